//! Programs that run a command for each thing they find: `xargs`, `find`, `parallel`, and those that run text.

use super::{
    builtins::joined,
    call::Call,
    guard::Access,
    options::after_options,
    parse::{GLOB, UNKNOWN},
    removal::{is_remover, spares_repository},
    state::State,
    walk::Walker,
    word::Field,
};

/// The most words from a pipe that are followed into `xargs`.
const WORDS: usize = 64;

impl Walker<'_> {
    /// Judges what a spawner runs; false if the program is not one.
    pub(super) fn spawner(&mut self, call: &Call<'_>, state: &mut State) -> bool {
        match call.program {
            "xargs" | "gxargs" => self.xargs(call, state),
            "find" | "gfind" => self.find(call, state),
            "fd" | "fdfind" => self.fd(call.arguments, state),
            "parallel" | "rust-parallel" => {
                self.risky("`parallel` runs commands that are only known once it runs");
                let words = after_options(call.arguments, "jNnLISa", &["jobs", "arg-file", "colsep"]);
                let text = joined(words).replace("{}", "");
                self.run(&text.replace(":::", ""), &mut state.clone(), call.stdin);
            }
            "watch" | "gwatch" => {
                self.text_command(call, after_options(call.arguments, "n", &["interval"]), state)
            }
            "script" => self.option_text(call, "c", "command", state),
            "su" => self.option_text(call, "c", "command", state),
            "runuser" => {
                self.option_text(call, "c", "command", state);
                let words = after_options(call.arguments, "cugGsw", &["command", "user", "group", "shell"]);
                self.call(words, &mut state.clone(), call.stdin);
            }
            "flock" => self.flock(call, state),
            _ => return false,
        }
        true
    }

    fn text_command(&mut self, call: &Call<'_>, words: &[Field], state: &mut State) {
        self.risky(format!("`{}` runs another command", call.program));
        self.run(&joined(words), &mut state.clone(), call.stdin);
    }

    /// Runs the text that an option carries.
    fn option_text(&mut self, call: &Call<'_>, letter: &str, name: &str, state: &mut State) {
        self.risky(format!("`{}` runs another command", call.program));
        for (index, field) in call.arguments.iter().enumerate() {
            let next = call.arguments.get(index + 1).map(|next| next.text.as_str()).unwrap_or_default();
            let text = match field.text.strip_prefix("--") {
                Some(long) if long == name => next,
                Some(long) => {
                    long.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')).unwrap_or_default()
                }
                None if field.text.starts_with('-') && field.text.ends_with(letter) => next,
                None => "",
            };
            self.run(text, &mut state.clone(), call.stdin);
        }
        if call.program == "su" && !call.stdin.contains(UNKNOWN) {
            self.run(call.stdin, &mut state.clone(), call.stdin);
        }
    }

    fn flock(&mut self, call: &Call<'_>, state: &mut State) {
        let words = after_options(call.arguments, "wE", &["timeout", "conflict-exit-code"]);
        match words {
            [_, option, text, ..] if option.text == "-c" || option.text == "--command" => {
                self.run(&text.text, state, call.stdin);
            }
            [_, rest @ ..] => _ = self.call(rest, state, call.stdin),
            [] => {}
        }
    }

    fn xargs(&mut self, call: &Call<'_>, state: &mut State) {
        let command =
            after_options(call.arguments, "ILnPsdaE", &["max-args", "max-procs", "arg-file", "delimiter"]);
        let command = if command.is_empty() { vec![Field::plain("echo")] } else { command.to_vec() };
        let mut words: Vec<Field> = call.stdin.split_whitespace().take(WORDS + 1).map(unquoted).collect();
        if call.stdin.contains(UNKNOWN) || words.len() > WORDS {
            words = vec![Field::plain(UNKNOWN.to_string())];
        }
        let nothing = UNKNOWN.to_string();
        if let Some(mark) = replacement(call.arguments) {
            // Each line is put in by itself.
            let lines = call.stdin.lines().take(WORDS).map(|line| unquoted(line.trim()).text);
            for line in lines.chain([joined(&words)]) {
                let put = |field: &Field| Field { text: field.text.replace(mark, &line), ..field.clone() };
                let fields: Vec<Field> = command.iter().map(put).collect();
                self.call(&fields, &mut state.clone(), &nothing);
            }
            return;
        }
        // With a limit, every word may be the first of a call.
        let limited = call.arguments.len() > command.len();
        let starts = if limited { words.len().max(1) } else { 1 };
        for start in 0..starts {
            let fields = [command.as_slice(), &words[start.min(words.len())..]].concat();
            self.call(&fields, &mut state.clone(), &nothing);
        }
    }

    fn find(&mut self, call: &Call<'_>, state: &mut State) {
        let is_start = |field: &&Field| !field.text.starts_with(['-', '(', '!']);
        let mut starts: Vec<&str> =
            call.arguments.iter().take_while(is_start).map(|field| field.text.as_str()).collect();
        if starts.is_empty() {
            starts.push(".");
        }
        let names = names_to_find(call.arguments);
        let spares = spares_repository(call.arguments);
        let text =
            |index: usize| call.arguments.get(index).map(|field| field.text.as_str()).unwrap_or_default();
        for index in 0..call.arguments.len() {
            match text(index) {
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let removes = is_remover(text(index + 1));
                    for start in &starts {
                        if self.is_over() {
                            return;
                        }
                        if removes && !spares {
                            self.touch(start, Access::Remove, state);
                        }
                        // What is found by its name is not the repository.
                        let found = if removes && spares { "/" } else { "" };
                        let found = format!("{start}/{UNKNOWN}{found}{UNKNOWN}");
                        self.each(&found, &call.arguments[index + 1..], state);
                        for name in &names {
                            self.each(&format!("{start}/{name}"), &call.arguments[index + 1..], state);
                        }
                    }
                }
                "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                    self.touch(text(index + 1), Access::Write, state)
                }
                "-delete" => {
                    self.risky("`find -delete` removes whatever it finds");
                    let access = if spares { Access::Write } else { Access::Remove };
                    for start in &starts {
                        if self.is_over() {
                            return;
                        }
                        self.touch(start, access, state);
                        names.iter().for_each(|name| {
                            self.touch(&format!("{start}/{name}"), Access::Remove, state);
                        });
                    }
                }
                _ => {}
            }
        }
    }

    fn fd(&mut self, arguments: &[Field], state: &mut State) {
        let runs = |field: &Field| match field.text.strip_prefix("--") {
            Some(long) => long.starts_with("exec"),
            None => field.text.starts_with('-') && field.text.contains(['x', 'X']),
        };
        if let Some(index) = arguments.iter().position(runs) {
            let attached = arguments[index].text.split_once('=').map(|(_, value)| Field::plain(value));
            let command: Vec<Field> =
                attached.into_iter().chain(arguments[index + 1..].iter().cloned()).collect();
            self.each(&format!("./{UNKNOWN}"), &command, state);
            self.risky("`fd` runs a command for whatever it finds");
        }
    }

    /// Runs a command in which `{}` stands for a file that was found.
    fn each(&mut self, file: &str, arguments: &[Field], state: &mut State) {
        let end = arguments.iter().position(|field| matches!(field.text.as_str(), ";" | "+"));
        let end = end.unwrap_or(arguments.len());
        let found = |field: &Field| Field { text: field.text.replace("{}", file), quoted: true };
        let fields: Vec<Field> = arguments[..end].iter().map(found).collect();
        self.call(&fields, &mut state.clone(), &UNKNOWN.to_string());
    }
}

/// Returns the names that `find` is to look for, as patterns.
fn names_to_find(arguments: &[Field]) -> Vec<String> {
    let texts: Vec<&str> = arguments.iter().map(|field| field.text.as_str()).collect();
    let is_sought = |index: usize| {
        matches!(texts[index], "-name" | "-iname")
            && !index.checked_sub(1).is_some_and(|before| matches!(texts[before], "!" | "-not"))
    };
    let names = (0..texts.len()).filter(|index| is_sought(*index)).filter_map(|index| texts.get(index + 1));
    names.map(|name| name.replace(['*', '?'], &GLOB.to_string())).collect()
}

/// Returns what `-I` puts its words in place of.
fn replacement(arguments: &[Field]) -> Option<&str> {
    let at = arguments.iter().position(|field| field.text.starts_with("-I") || field.text == "-i")?;
    match &arguments[at].text[2..] {
        "" if arguments[at].text == "-i" => Some("{}"),
        "" => arguments.get(at + 1).map(|field| field.text.as_str()),
        mark => Some(mark),
    }
    .filter(|mark| !mark.is_empty())
}

/// `xargs` reads quotes and backslashes itself.
fn unquoted(word: &str) -> Field {
    Field::plain(word.replace(['\'', '"', '\\'], ""))
}
