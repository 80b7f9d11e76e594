//! Calls a program by its name, and sends it to whoever knows it.

use super::{
    denied,
    options::asks_help,
    parse::{GLOB, UNKNOWN},
    paths::{base_name, relation},
    state::State,
    walk::Walker,
    word::Field,
};

/// How often a function may be within itself before it is not followed again.
const CALLS: usize = 2;

/// Directories whose programs are the usual ones.
const USUAL: [&str; 6] =
    ["/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/opt/homebrew/bin/"];

/// Agents: another one would not be on the rails of this one.
const AGENTS: [&str; 5] = ["claude", "codex", "opencode", "gemini", "aider"];

/// A call: the program, its arguments, and what it reads.
#[derive(Clone, Copy)]
pub(super) struct Call<'c> {
    pub(super) program: &'c str,
    pub(super) arguments: &'c [Field],
    pub(super) stdin: &'c str,
}

impl Walker<'_> {
    /// Judges the command `fields`, and returns what it prints.
    pub(super) fn call(&mut self, fields: &[Field], state: &mut State, stdin: &str) -> String {
        let Some((name, arguments)) = fields.split_first() else { return String::new() };
        if self.is_over() || (name.text.is_empty() && !name.quoted) {
            return String::new();
        }
        self.spend(1);
        self.spend_on(stdin);
        fields.iter().for_each(|field| self.spend_on(&field.text));
        self.deeper(|walker| walker.call_named(&name.text, arguments, state, stdin))
    }

    fn call_named(&mut self, name: &str, arguments: &[Field], state: &mut State, stdin: &str) -> String {
        if name.contains(UNKNOWN) {
            return self.call_unknown(name, arguments, state, stdin);
        }
        if let Some(value) = state.aliases.remove(name) {
            return self.call_alias(name, value, arguments, state, stdin);
        }
        if let Some(body) = state.functions.get(name).cloned()
            && self.active.iter().filter(|active| *active == name).count() < CALLS
        {
            let texts = arguments.iter().map(|field| field.text.clone()).collect();
            let before = state.positional.replace(texts);
            self.active.push(name.to_owned());
            let printed = self.body(&body, state, stdin);
            self.active.pop();
            state.positional = before;
            // The function may be gone by then: a refused program of the same name stays refused.
            self.certainly(|walker| _ = walker.program(name, arguments, state, stdin));
            return printed;
        }
        self.program(name, arguments, state, stdin)
    }

    /// A name that is put together when the command runs: also read as if what is unknown were empty.
    fn call_unknown(&mut self, name: &str, arguments: &[Field], state: &mut State, stdin: &str) -> String {
        self.risky("it runs a command whose name is only known once it runs");
        let whole = std::iter::once(Field::plain(name)).chain(arguments.iter().cloned());
        let emptied = emptied(whole);
        if emptied.first().is_some_and(|first| !first.text.contains('/')) {
            self.call(&emptied, state, stdin);
        }
        self.command_words(arguments);
        UNKNOWN.to_string()
    }

    fn call_alias(
        &mut self,
        name: &str,
        value: String,
        arguments: &[Field],
        state: &mut State,
        stdin: &str,
    ) -> String {
        // The alias is out of reach while it is expanded, as in the shell.
        let mut text = value.clone();
        for (index, field) in arguments.iter().enumerate() {
            state.restore(&format!("_alias{index}"), Some(vec![field.text.clone()]));
            text.push_str(&format!(" \"${{_alias{index}}}\""));
        }
        let printed = self.run(&text, state, stdin);
        // Aliases may be switched off: a refused program of the same name stays refused.
        self.certainly(|walker| _ = walker.program(name, arguments, state, stdin));
        state.aliases.insert(name.to_owned(), value);
        printed
    }

    fn program(&mut self, name: &str, arguments: &[Field], state: &mut State, stdin: &str) -> String {
        // `=git` is git's path to one shell; elsewhere there is no such command.
        let name = name.strip_prefix('=').filter(|rest| !rest.is_empty()).unwrap_or(name);
        let base = base_name(name);
        let is_git = relation(&format!("/{base}"), "/git").within || base.eq_ignore_ascii_case("git.exe");
        if is_git || base == "hub" {
            return self.git(arguments, state, stdin);
        }
        if let Some(subcommand) = base.strip_prefix("git-") {
            let mut whole = vec![Field::plain(subcommand)];
            whole.extend_from_slice(arguments);
            return self.git(&whole, state, stdin);
        }
        if AGENTS.contains(&base) && !asks_help(arguments.iter().map(|field| field.text.as_str())) {
            self.found(denied(
                &format!("`{base}`"),
                "starts another agent, which is a person's to do",
                "do the work here, or use a subagent",
            ));
            return UNKNOWN.to_string();
        }
        if base == "warp" || base == "warp.exe" {
            self.found(super::warp::judge(arguments));
            return UNKNOWN.to_string();
        }
        if base == crate::PATCHES || base == "applypatch" {
            self.own_patch(arguments, stdin, state);
            return UNKNOWN.to_string();
        }
        if name.contains(GLOB) {
            self.risky("it runs a command whose name is a pattern");
            return UNKNOWN.to_string();
        }
        let usual = || USUAL.iter().any(|directory| name.strip_prefix(directory) == Some(base));
        let written = || state.resolve(name).iter().any(|path| state.files.contains_key(path));
        if name.contains('/') && (!usual() || written()) {
            return self.script(name, arguments, state, stdin);
        }
        self.known_program(&Call { program: base, arguments, stdin }, state)
    }

    /// Asks everybody who knows programs.
    fn known_program(&mut self, call: &Call<'_>, state: &mut State) -> String {
        if let Some(printed) = self.builtin(call, state) {
            return printed;
        }
        if let Some(printed) = self.wrapper(call, state) {
            return printed;
        }
        if let Some(printed) = self.shell(call, state) {
            return printed;
        }
        if let Some(printed) = self.writer(call, state) {
            return printed;
        }
        if self.spawner(call, state) || self.interpreter(call, state) || self.forge(call) {
            return UNKNOWN.to_string();
        }
        self.tool(call, state)
    }
}

/// Returns a command as it reads if everything unknown is empty.
pub(super) fn emptied(fields: impl Iterator<Item = Field>) -> Vec<Field> {
    let empty = |field: Field| Field { text: field.text.replace(UNKNOWN, ""), quoted: field.quoted };
    fields.map(empty).filter(|field| field.quoted || !field.text.is_empty()).collect()
}
