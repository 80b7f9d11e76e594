//! Programs that run another program with the same arguments: `env`, `sudo`, `timeout` and their like.

use super::{
    builtins::joined, call::Call, options::after_options, parse::UNKNOWN, simple::TemporaryVariable,
    state::State, walk::Walker, word::Field,
};

/// How a program's own arguments end and the command begins.
struct Wrapper {
    name: &'static str,
    /// Short options that take a value.
    short: &'static str,
    /// Long options that take the next argument.
    long: &'static [&'static str],
    /// Operands before the command.
    operands: usize,
}

const fn wrapper(
    name: &'static str,
    short: &'static str,
    long: &'static [&'static str],
    operands: usize,
) -> Wrapper {
    Wrapper { name, short, long, operands }
}

const WRAPPERS: [Wrapper; 38] = [
    wrapper(
        "sudo",
        "CDRTUghprtu",
        &["user", "group", "host", "prompt", "chdir", "chroot", "role", "type"],
        0,
    ),
    wrapper("doas", "Cu", &[], 0),
    wrapper("command", "", &[], 0),
    wrapper("builtin", "", &[], 0),
    wrapper("exec", "a", &[], 0),
    wrapper("nohup", "", &[], 0),
    wrapper("setsid", "", &[], 0),
    wrapper("time", "fo", &["format", "output"], 0),
    wrapper("timeout", "ks", &["kill-after", "signal"], 1),
    wrapper("gtimeout", "ks", &["kill-after", "signal"], 1),
    wrapper("nice", "n", &["adjustment"], 0),
    wrapper("ionice", "cnpPu", &["class", "classdata"], 0),
    wrapper("chrt", "TPD", &[], 1),
    wrapper("taskset", "", &[], 1),
    wrapper("stdbuf", "ioe", &["input", "output", "error"], 0),
    wrapper("unbuffer", "", &[], 0),
    wrapper("noglob", "", &[], 0),
    wrapper("nocorrect", "", &[], 0),
    wrapper("-", "", &[], 0),
    wrapper("--", "", &[], 0),
    wrapper("repeat", "", &[], 1),
    wrapper("strace", "eoEpPsuIOSaX", &["trace", "output"], 0),
    wrapper("ltrace", "eoluFanspx", &[], 0),
    wrapper("valgrind", "", &[], 0),
    wrapper("chroot", "", &[], 1),
    wrapper("unshare", "SGRw", &[], 0),
    wrapper("fakeroot", "lsib", &[], 0),
    wrapper("systemd-run", "pMHtuE", &["unit", "property"], 0),
    wrapper("systemd-inhibit", "", &[], 0),
    wrapper("caffeinate", "tw", &[], 0),
    wrapper("chronic", "", &[], 0),
    wrapper("xvfb-run", "efnpsw", &[], 0),
    wrapper("dbus-run-session", "", &[], 0),
    wrapper("pkexec", "", &["user"], 0),
    wrapper("busybox", "", &[], 0),
    wrapper("toybox", "", &[], 0),
    wrapper("direnv", "", &[], 2),
    wrapper("xcrun", "", &[], 0),
];

/// Programs whose subcommand runs another program, as `uv run` does.
const RUNNERS: [(&str, &str); 9] = [
    ("uv", "run"),
    ("poetry", "run"),
    ("pipenv", "run"),
    ("pdm", "run"),
    ("rye", "run"),
    ("bundle", "exec"),
    ("mise", "exec"),
    ("asdf", "exec"),
    ("devbox", "run"),
];

impl Walker<'_> {
    /// Judges the command inside a wrapper; `None` if the program is not one.
    pub(super) fn wrapper(&mut self, call: &Call<'_>, state: &mut State) -> Option<String> {
        if call.program == "env" {
            return Some(self.env(call, state));
        }
        if let [first, rest @ ..] = call.arguments
            && RUNNERS.contains(&(call.program, first.text.as_str()))
        {
            self.risky(format!("`{}` runs another program", call.program));
            return Some(self.inner(rest, 0, state, call.stdin));
        }
        let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == call.program)?;
        let asks = |field: &Field| matches!(field.text.as_str(), "-v" | "-V");
        if wrapper.name == "command" && call.arguments.first().is_some_and(asks) {
            // Asks where a program is. Its name stands for its path.
            return Some(call.arguments.last().map_or_else(String::new, |last| last.text.clone()));
        }
        let rest = after_options(call.arguments, wrapper.short, wrapper.long);
        self.wrapper_writes(call, &call.arguments[..call.arguments.len() - rest.len()], state);
        if matches!(call.program, "sudo" | "doas" | "pkexec" | "systemd-run") {
            let mut inner = state.clone();
            inner.clear_exported();
            let printed = self.inner(rest, wrapper.operands, &mut inner, call.stdin);
            state.files.append(&mut inner.files);
            return Some(printed);
        }
        Some(self.inner(rest, wrapper.operands, state, call.stdin))
    }

    /// Files that a wrapper writes by itself, and what it runs beside the command.
    fn wrapper_writes(&mut self, call: &Call<'_>, options: &[Field], state: &mut State) {
        if matches!(call.program, "strace" | "ltrace" | "valgrind" | "xvfb-run" | "unshare" | "chroot") {
            self.risky(format!("`{}` does more than to run a command", call.program));
        }
        if matches!(call.program, "time" | "strace" | "ltrace") {
            let own = Call { arguments: options, ..*call };
            self.option_target(&own, "o", state);
            // A pipe or an exclamation mark in front makes it a command.
            for text in options.iter().map(|field| field.text.trim_start_matches("-o")) {
                if let Some(command) = text.strip_prefix(['|', '!']) {
                    self.run(command, &mut state.clone(), &UNKNOWN.to_string());
                }
            }
        }
    }

    /// Calls what is left after assignments and the wrapper's own operands.
    fn inner(&mut self, rest: &[Field], operands: usize, state: &mut State, stdin: &str) -> String {
        let mut rest = rest;
        let mut lent = Vec::new();
        while let [first, tail @ ..] = rest {
            match assignment(&first.text) {
                Some((name, value)) => {
                    lent.push(TemporaryVariable::of(name, state));
                    self.set_variable(name, vec![value.to_owned()], state);
                    self.exported(name, state);
                    state.exported.insert(name.to_owned());
                }
                None if first.text == "--" => {}
                None => break,
            }
            rest = tail;
        }
        let printed = self.call(rest.get(operands..).unwrap_or_default(), state, stdin);
        TemporaryVariable::give_back(lent, state);
        printed
    }

    fn env(&mut self, call: &Call<'_>, state: &mut State) -> String {
        let mut inner = state.clone();
        let mut rest = call.arguments;
        while let [first, tail @ ..] = rest {
            let text = first.text.as_str();
            if let Some(text) = split_string(text) {
                let text = if text.is_empty() { joined(tail) } else { format!("{text} {}", joined(tail)) };
                return self.run(&text, &mut inner, call.stdin);
            }
            let value = tail.first().map(|field| field.text.as_str()).unwrap_or_default();
            if let Some(option) = env_option(text) {
                let value = option.value.unwrap_or(value);
                match option.letter {
                    'C' => inner.change_directory(value),
                    'u' => inner.restore(value, None),
                    'i' => inner.clear_exported(),
                    _ => {}
                }
                rest = tail.get(usize::from(option.takes_next)..).unwrap_or_default();
                continue;
            }
            rest = match assignment(text) {
                Some((name, value)) => {
                    self.set_variable(name, vec![value.to_owned()], &mut inner);
                    self.exported(name, &inner);
                    inner.exported.insert(name.to_owned());
                    tail
                }
                None => break,
            };
        }
        let printed = self.call(rest, &mut inner, call.stdin);
        state.files.append(&mut inner.files);
        if rest.is_empty() { UNKNOWN.to_string() } else { printed }
    }
}

/// An option of `env`, by its letter.
struct EnvOption<'t> {
    letter: char,
    value: Option<&'t str>,
    /// Whether its value is the next argument.
    takes_next: bool,
}

fn env_option(text: &str) -> Option<EnvOption<'_>> {
    const LONG: [(&str, char); 4] =
        [("ignore-environment", 'i'), ("unset", 'u'), ("chdir", 'C'), ("argv0", 'a')];
    let option = text.strip_prefix('-')?;
    if let Some(long) = option.strip_prefix('-') {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let letter = LONG.iter().find(|(known, _)| !name.is_empty() && known.starts_with(name));
        let letter = letter.map_or('-', |(_, letter)| *letter);
        return Some(EnvOption { letter, value, takes_next: value.is_none() && "uCa".contains(letter) });
    }
    // A dash alone is `-i`. In a cluster, the rest is the value of the first option that takes one.
    let takes = option.find(['u', 'C', 'a']);
    let letter = takes.and_then(|at| option[at..].chars().next());
    let value = takes.map(|at| &option[at + 1..]).filter(|value| !value.is_empty());
    let is_cleared = option.is_empty() || option[..takes.unwrap_or(option.len())].contains('i');
    match letter {
        Some(letter) if !is_cleared => Some(EnvOption { letter, value, takes_next: value.is_none() }),
        // What is cleared is all that matters.
        Some(_) => Some(EnvOption { letter: 'i', value: None, takes_next: value.is_none() }),
        None => {
            Some(EnvOption { letter: if is_cleared { 'i' } else { '-' }, value: None, takes_next: false })
        }
    }
}

/// Reads `-S TEXT` and its other forms; empty if the text is the next argument.
fn split_string(text: &str) -> Option<&str> {
    if let Some(long) = text.strip_prefix("--").filter(|long| !long.is_empty()) {
        let (name, value) = long.split_once('=').unwrap_or((long, ""));
        return "split-string".starts_with(name).then_some(value);
    }
    let cluster = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
    // The rest of a cluster is the value of the first option that takes one.
    let at = cluster.find(['S', 'u', 'C', 'a'])?;
    cluster[at..].strip_prefix('S')
}

/// Reads `NAME=VALUE`. To `env` anything with an equals sign is one.
fn assignment(text: &str) -> Option<(&str, &str)> {
    text.split_once('=').filter(|(name, _)| !name.is_empty())
}
