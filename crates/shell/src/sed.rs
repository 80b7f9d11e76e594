//! The scripts of `sed`: `w` writes a file, `e` runs a command, and both may be flags of `s`.

use super::{guard::Access, parse::UNKNOWN, state::State, walk::Walker};

/// A side effect of a sed script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SedEffect<'s> {
    Writes(&'s str),
    Runs(&'s str),
    /// Runs the text that it is working on.
    RunsText,
}

impl Walker<'_> {
    /// Judges a script of sed.
    pub(super) fn sed_script(&mut self, script: &str, state: &State) {
        for deed in deeds(script) {
            match deed {
                SedEffect::Writes(path) => self.touch(path, Access::Write, state),
                SedEffect::Runs(text) => _ = self.run(text, &mut state.clone(), &UNKNOWN.to_string()),
                SedEffect::RunsText => self.risky("`sed` runs what it puts together"),
            }
        }
    }
}

fn deeds(script: &str) -> Vec<SedEffect<'_>> {
    let mut deeds = Vec::new();
    let mut rest = script;
    loop {
        rest = after_address(rest.trim_start_matches([' ', '\t', '\n', ';', '{', '}']));
        let Some(command) = rest.chars().next() else { return deeds };
        let tail = &rest[command.len_utf8()..];
        let (line, after_line) = tail.split_once('\n').unwrap_or((tail, ""));
        rest = match command {
            'w' | 'W' => {
                deeds.push(SedEffect::Writes(line.trim()));
                after_line
            }
            'e' => {
                deeds.push(if line.trim().is_empty() {
                    SedEffect::RunsText
                } else {
                    SedEffect::Runs(line.trim())
                });
                after_line
            }
            // Text, and the name of a file that is read, go on to the end of the line.
            'a' | 'i' | 'c' | 'r' | 'R' | '#' => after_line,
            's' | 'y' => substitution(tail, &mut deeds),
            _ => tail.find([';', '\n', '}']).map_or("", |at| &tail[at..]),
        };
    }
}

/// Reads `/a/b/flags` after an `s` or `y`, and returns what follows.
fn substitution<'s>(tail: &'s str, deeds: &mut Vec<SedEffect<'s>>) -> &'s str {
    let Some(delimiter) = tail.chars().next() else { return "" };
    let pattern = &tail[delimiter.len_utf8()..];
    let flags = after_delimiter(after_delimiter(pattern, delimiter), delimiter);
    let end = flags.find([';', '\n', '}', 'w', 'W']).unwrap_or(flags.len());
    if flags[..end].contains('e') {
        deeds.push(SedEffect::RunsText);
    }
    if flags[end..].starts_with(['w', 'W']) {
        let (path, rest) = flags[end + 1..].split_once('\n').unwrap_or((&flags[end + 1..], ""));
        deeds.push(SedEffect::Writes(path.trim()));
        return rest;
    }
    &flags[end..]
}

/// Returns what follows the next `delimiter` that no backslash hides.
fn after_delimiter(text: &str, delimiter: char) -> &str {
    let mut hidden = false;
    for (at, character) in text.char_indices() {
        if !hidden && character == delimiter {
            return &text[at + character.len_utf8()..];
        }
        hidden = !hidden && character == '\\';
    }
    ""
}

/// Returns what follows the address in front of a command: numbers, `$`, `/…/`, `\x…x`, a range, `!`.
fn after_address(text: &str) -> &str {
    let mut rest = text;
    loop {
        let plain = |c: char| c.is_ascii_digit() || matches!(c, '$' | ',' | '~' | '+' | '!' | ' ' | '\t');
        rest = rest.trim_start_matches(plain);
        let delimiter = match rest.strip_prefix('\\') {
            Some(hidden) => hidden.chars().next(),
            None => rest.starts_with('/').then_some('/'),
        };
        let Some(delimiter) = delimiter else { return rest };
        let pattern = rest.trim_start_matches('\\');
        rest = after_delimiter(pattern.get(delimiter.len_utf8()..).unwrap_or_default(), delimiter);
        // A pattern's own flags.
        rest = rest.trim_start_matches(['I', 'M']);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_that_only_change_text_do_nothing_else() {
        for script in
            ["s/new warp.toml/x/g", "/w x/d", "1,20p", "s|e|w a|", "$!N;s/\\/e/w/", "/a/,/b/{s/e/w/;p}", ""]
        {
            assert_eq!(deeds(script), [], "{script}");
        }
    }

    #[test]
    fn text_on_a_second_line_is_read_as_commands() {
        // That is too much, never too little.
        assert_eq!(deeds("a\\\nw x"), [SedEffect::Writes("x")]);
    }

    #[test]
    fn writing_and_running_are_found() {
        assert_eq!(deeds("w x"), [SedEffect::Writes("x")]);
        assert_eq!(deeds("/a;b/wx"), [SedEffect::Writes("x")]);
        assert_eq!(deeds("s/a/b/gw x"), [SedEffect::Writes("x")]);
        assert_eq!(deeds("s,a,b,;s/c/d/e"), [SedEffect::RunsText]);
        assert_eq!(deeds("1e git push"), [SedEffect::Runs("git push")]);
        assert_eq!(deeds("\\xaxe git push\np"), [SedEffect::Runs("git push")]);
        assert_eq!(deeds("e"), [SedEffect::RunsText]);
    }
}
