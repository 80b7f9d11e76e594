//! Programs whose effects are known: they read, build or measure, and leave git and other files alone.

use super::{
    call::Call, filters::filtered, guard::readable, harmless, parse::UNKNOWN, removal::temporary,
    state::State, walk::Walker, word::Field,
};

/// Whether `name` is one of the words of `list`.
pub(super) fn is_one_of(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|word| word == name)
}

impl Walker<'_> {
    /// Judges a program that nobody else knows, and returns what it prints.
    pub(super) fn tool(&mut self, call: &Call<'_>, state: &mut State) -> String {
        let is_harmless = harmless::is_harmless(call.program, call.arguments);
        if !is_harmless {
            let verb = call.arguments.first().map(|field| field.text.as_str());
            let verb = verb.filter(|verb| harmless::has_verbs(call.program) && !verb.starts_with('-'));
            let shown = [call.program].into_iter().chain(verb).collect::<Vec<_>>().join(" ");
            self.risky(format!("what `{}` does is not known here", readable(&shown)));
            self.command_words(call.arguments);
            self.option_target(call, "o", state);
        }
        self.commands_in_options(call.arguments);
        let mentions_warp = || call.arguments.iter().any(|field| field.text.contains("warp"));
        let stops = match call.program {
            "pkill" | "killall" => true,
            "systemctl" | "service" => !is_harmless,
            _ => false,
        };
        if stops && mentions_warp() {
            self.deny(format!("`{}` of warp is a person's to run: say why it should stop", call.program));
        }
        let printed = filtered(call).or_else(|| temporary(call.program, call.arguments));
        printed.unwrap_or_else(|| UNKNOWN.to_string())
    }

    /// Judges the commands that options are known to carry, whatever program takes them.
    pub(super) fn commands_in_options(&mut self, arguments: &[Field]) {
        for (index, field) in arguments.iter().enumerate() {
            let text = field.text.trim_start_matches('-');
            if text.len() == field.text.len() {
                continue;
            }
            let (name, value) = match text.split_once('=') {
                Some((name, value)) => (name, value),
                None => (text, arguments.get(index + 1).map_or("", |next| next.text.as_str())),
            };
            if harmless::carries_command(name) {
                let value = value.strip_prefix("exec=").unwrap_or(value);
                self.risky(format!("`{name}` names a program that is run"));
                self.perhaps_command(value);
                self.perhaps_command(&value.replace(',', " "));
            }
        }
    }
}

/// Whether a program is only asked what it is.
pub(super) fn asks_version(arguments: &[Field]) -> bool {
    matches!(arguments, [only] if matches!(only.text.as_str(), "--version" | "--help" | "-V" | "-h"))
}
