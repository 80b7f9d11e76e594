//! Shells that are given text or a script, and scripts that are run by their name.

use super::{call::Call, guard::readable, parse::UNKNOWN, state::State, walk::Walker, word::Field};

/// Where a shell's commands come from.
enum Source<'c> {
    Text { text: &'c str, arguments: &'c [Field] },
    Script { path: &'c str, arguments: &'c [Field] },
    Input { arguments: &'c [Field] },
}

pub(super) fn is_shell(program: &str) -> bool {
    matches!(
        program,
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ksh93" | "mksh" | "ash" | "rbash" | "yash" | "fish"
    )
}

impl Walker<'_> {
    /// Judges what a shell is given to run; `None` if the program is not a shell.
    pub(super) fn shell(&mut self, call: &Call<'_>, state: &mut State) -> Option<String> {
        if !is_shell(call.program) {
            return None;
        }
        let mut inner = state.clone();
        let printed = match source(call.arguments) {
            Source::Text { text, arguments } => {
                if let Some(name) = arguments.first() {
                    inner.restore("0", Some(vec![name.text.clone()]));
                }
                inner.positional = Some(texts(arguments.get(1..).unwrap_or_default()));
                self.run(text, &mut inner, call.stdin)
            }
            Source::Script { path, arguments } => {
                return Some(self.script(path, arguments, state, call.stdin));
            }
            Source::Input { arguments } => {
                inner.positional = Some(texts(arguments));
                if call.stdin.contains(UNKNOWN) {
                    self.risky(format!("`{}` reads commands that are only known once it runs", call.program));
                }
                self.run(call.stdin, &mut inner, &UNKNOWN.to_string())
            }
        };
        state.files.append(&mut inner.files);
        Some(printed)
    }

    /// Judges a script: what this command has written to it is read, anything else is unknown.
    pub(super) fn script(
        &mut self,
        path: &str,
        arguments: &[Field],
        state: &mut State,
        stdin: &str,
    ) -> String {
        let text = self.content(path, state, stdin);
        if text.contains(UNKNOWN) {
            self.risky(format!("`{}` is a script or program that is not known here", readable(path)));
        }
        let shebang = text.strip_prefix("#!").and_then(|rest| rest.lines().next()).unwrap_or("sh");
        let program = shebang.split(['/', ' ']).rfind(|part| !part.is_empty() && !part.starts_with('-'));
        let program = program.unwrap_or("sh");
        if !is_shell(program) {
            self.risky(format!("`{}` is run by `{program}`", readable(path)));
            self.foreign_text(program, &text);
            return UNKNOWN.to_string();
        }
        let mut inner = state.clone();
        inner.positional = Some(texts(arguments));
        let printed = self.run(&text, &mut inner, stdin);
        state.files.append(&mut inner.files);
        printed
    }
}

fn texts(fields: &[Field]) -> Vec<String> {
    fields.iter().map(|field| field.text.clone()).collect()
}

/// Reads a shell's arguments.
fn source(arguments: &[Field]) -> Source<'_> {
    let (mut rest, mut text_next, mut input) = (arguments, false, false);
    while let [first, tail @ ..] = rest {
        let option = first.text.as_str();
        match option {
            "-" | "--" => {
                rest = tail;
                break;
            }
            "--rcfile" | "--init-file" => rest = tail.get(1..).unwrap_or_default(),
            _ if option.starts_with("--") => rest = tail,
            _ if option.starts_with(['-', '+']) => {
                text_next |= option.contains('c');
                input |= option.contains('s');
                let takes_next = option.ends_with(['o', 'O']);
                rest = if takes_next { tail.get(1..).unwrap_or_default() } else { tail };
            }
            _ => break,
        }
    }
    match rest.split_first() {
        Some((text, arguments)) if text_next => Source::Text { text: &text.text, arguments },
        Some((path, arguments)) if !input => Source::Script { path: &path.text, arguments },
        Some(_) | None => Source::Input { arguments: rest },
    }
}
