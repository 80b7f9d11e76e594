//! Parameter expansion: `$name`, `${name:-word}`, `${list[@]}` and the rest.
//!
//! Forms that change a text in ways that are not followed give unknown text. Whatever they run is judged.

use super::{
    parse::UNKNOWN,
    state::{Certainty, State},
    walk::Walker,
    word::{Mode, name_length},
};

/// A parameter's values, and whether all of a list was asked for.
struct Values {
    list: Vec<String>,
    known: bool,
}

/// What a parameter expansion comes to.
pub(super) enum Expansion<'t> {
    Values(Vec<String>),
    /// A word of its own, quoted as it was written.
    Word(&'t str),
}

impl Walker<'_> {
    /// Expands what stands between `${` and `}`.
    pub(super) fn parameter<'t>(&mut self, text: &'t str, mode: Mode, state: &mut State) -> Expansion<'t> {
        if let Some(name) = text.strip_prefix('!').filter(|rest| !rest.is_empty()) {
            return Expansion::Values(self.indirect(name, mode, state));
        }
        if text.len() > 1 && text.starts_with('#') && name_length(&text[1..]) > 0 {
            self.operand(&text[1..], state);
            return Expansion::Values(vec![UNKNOWN.to_string()]);
        }
        let length = match text.bytes().take_while(u8::is_ascii_digit).count() {
            0 => name_length(text),
            digits => digits,
        };
        let (name, rest) = text.split_at(length);
        let (index, rest) = subscript(rest);
        let values = self.values(name, index, mode, state);
        if rest.is_empty() {
            return Expansion::Values(values.list);
        }
        self.operation(name, values, rest, mode, state)
    }

    /// Expands `${!name}`, the variable that another one names.
    fn indirect(&mut self, rest: &str, mode: Mode, state: &mut State) -> Vec<String> {
        let (name, tail) = rest.split_at(name_length(rest));
        self.operand(tail, state);
        let target = state.text(name);
        if tail.is_empty() && !target.is_empty() && name_length(&target) == target.len() {
            return self.values(&target, None, mode, state).list;
        }
        vec![UNKNOWN.to_string()]
    }

    /// Looks a parameter up.
    fn values(&mut self, name: &str, index: Option<&str>, mode: Mode, state: &mut State) -> Values {
        let known = |list: Vec<String>| Values { list, known: true };
        let unknown = Values { list: vec![UNKNOWN.to_string()], known: false };
        let joined = |list: &[String]| {
            if mode == Mode::Word { list.to_vec() } else { vec![list.join(" ")] }
        };
        let positional = state.positional.as_deref();
        match (name, index) {
            ("@", _) => positional.map_or(unknown, |list| known(list.to_vec())),
            ("*", _) => positional.map_or(unknown, |list| known(joined(list))),
            ("", _) => unknown,
            (_, Some("@")) => state.get(name).map_or(unknown, |list| known(list.to_vec())),
            (_, Some("*")) => state.get(name).map_or(unknown, |list| known(joined(list))),
            (_, Some(index)) => {
                let index = self.arithmetic(index, state).parse::<usize>();
                let element = index.ok().and_then(|index| state.get(name)?.get(index).cloned());
                element.map_or(unknown, |element| known(vec![element]))
            }
            (_, None) => match name.parse::<usize>() {
                Ok(number @ 1..) => {
                    let element = |list: &[String]| list.get(number - 1).cloned().unwrap_or_default();
                    positional.map_or(unknown, |list| known(vec![element(list)]))
                }
                Ok(0) | Err(_) => {
                    let text = state.text(name);
                    Values { known: text != UNKNOWN.to_string(), list: vec![text] }
                }
            },
        }
    }

    /// Applies what follows the name.
    fn operation<'t>(
        &mut self,
        name: &str,
        values: Values,
        rest: &'t str,
        mode: Mode,
        state: &mut State,
    ) -> Expansion<'t> {
        if rest.contains("<(") || rest.contains(">(") {
            self.deny("a process substitution inside `${…}` is not followed: write it outside");
        }
        let bare = rest.strip_prefix(':').unwrap_or(rest);
        let (operator, operand) = match bare.split_at_checked(1) {
            Some((operator @ ("-" | "=" | "+" | "?"), operand)) => (operator, operand),
            _ => return Expansion::Values(self.transformed(values, rest, mode, state)),
        };
        let is_empty = values.known && values.list.concat().is_empty() && rest.starts_with(':');
        let is_set = values.known && !is_empty;
        // A variable that is not set here may be set outside.
        if (operator == "-" && !is_set) || (operator == "+" && (is_set || !values.known)) {
            return Expansion::Word(operand);
        }
        let text = self.text_of(operand, if mode == Mode::Here { Mode::Here } else { Mode::Single }, state);
        match (operator, is_set) {
            ("=", false) => {
                state.set(name, vec![text.clone()], Certainty::Sure);
                Expansion::Values(vec![text])
            }
            ("+", false) => Expansion::Values(vec![String::new()]),
            _ => Expansion::Values(values.list),
        }
    }

    /// Applies the forms that cut or change the text.
    fn transformed(&mut self, values: Values, rest: &str, mode: Mode, state: &mut State) -> Vec<String> {
        if rest == "@P" {
            // The text is expanded like a prompt, substitutions included.
            for value in &values.list {
                self.hidden_substitutions(value, state);
            }
            self.risky("expands a variable like a prompt");
        }
        let operand_mode = if mode == Mode::Here { Mode::Here } else { Mode::Single };
        let operand = self.text_of(rest, operand_mode, state);
        let change = |text: &String| {
            let changed = if text.contains(UNKNOWN) { None } else { changed(text, &operand) };
            changed.unwrap_or_else(|| UNKNOWN.to_string())
        };
        values.list.iter().map(change).collect()
    }

    /// Judges what an operand runs, where its text does not matter.
    fn operand(&mut self, text: &str, state: &mut State) {
        self.text_of(text, Mode::Single, state);
    }
}

/// Splits off `[index]`.
fn subscript(rest: &str) -> (Option<&str>, &str) {
    match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((index, rest)) => (Some(index), rest),
        None => (None, rest),
    }
}

/// Applies an operation whose operand is plain text; `None` if the result is not followed.
fn changed(text: &str, operation: &str) -> Option<String> {
    let plain = |pattern: &str| !pattern.contains(['*', '?', '[', '\\', UNKNOWN]);
    if let Some(pattern) = operation.strip_prefix("##").or_else(|| operation.strip_prefix('#')) {
        return plain(pattern).then(|| text.strip_prefix(pattern).unwrap_or(text).to_owned());
    }
    if let Some(pattern) = operation.strip_prefix("%%").or_else(|| operation.strip_prefix('%')) {
        return plain(pattern).then(|| text.strip_suffix(pattern).unwrap_or(text).to_owned());
    }
    if let Some(rest) = operation.strip_prefix('/') {
        let (rest, all) = rest.strip_prefix('/').map_or((rest, false), |rest| (rest, true));
        let (pattern, with) = rest.split_once('/').unwrap_or((rest, ""));
        if !plain(pattern) || pattern.is_empty() || pattern.starts_with(['#', '%']) {
            return None;
        }
        return Some(if all { text.replace(pattern, with) } else { text.replacen(pattern, with, 1) });
    }
    match operation {
        "^^" | "@U" => Some(text.to_uppercase()),
        ",," | "@L" => Some(text.to_lowercase()),
        "@E" | "@Q" => None,
        _ => substring(text, operation.strip_prefix(':')?),
    }
}

/// Reads `offset` or `offset:length`.
fn substring(text: &str, range: &str) -> Option<String> {
    let (offset, length) = range.split_once(':').unwrap_or((range, "65536"));
    let offset = offset.trim().parse::<usize>().ok()?;
    let length = length.trim().parse::<usize>().ok()?;
    Some(text.chars().skip(offset).take(length).collect())
}
