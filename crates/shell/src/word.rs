//! Expands words: quotes, variables, substitutions, as far as they are known before the command runs.
//!
//! What a substitution runs is judged on the way; what it prints becomes part of the word if it is known.

use super::{
    braces::{decode_ansi, expand_braces},
    parameter::Expansion,
    parse::{GLOB, UNKNOWN},
    scan::{Extglob, Quoted, Scanner, Unreadable},
    state::{LONGEST, State},
    walk::Walker,
};

/// The most fields that one word may become.
const FIELDS: usize = 2048;

/// One argument of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) text: String,
    /// An unquoted field that is unknown may be any number of arguments, or none.
    pub(super) quoted: bool,
}

impl Field {
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), quoted: false }
    }
}

/// Which characters are special.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Word,
    /// A word that is neither split nor matched against files: what is assigned, or a redirection.
    Single,
    Double,
    /// The text of a here-document.
    Here,
}

/// The fields that a word becomes.
#[derive(Debug, Default)]
pub(super) struct Fields {
    done: Vec<Field>,
    current: Field,
    started: bool,
}

impl Fields {
    fn literal(&mut self, text: &str, quoted: bool) {
        self.current.text.push_str(text);
        self.current.quoted |= quoted;
        self.started |= quoted || !text.is_empty();
    }

    fn end(&mut self) {
        if self.started && self.done.len() < FIELDS {
            self.done.push(std::mem::take(&mut self.current));
        }
        self.current = Field::default();
        self.started = false;
    }

    /// Adds the value of an expansion, which is split at `separators` unless it is quoted.
    fn value(&mut self, value: &str, separators: Option<&str>) {
        let Some(separators) = separators else { return self.literal(value, true) };
        for (index, part) in value.split(|c| separators.contains(c)).enumerate() {
            if index > 0 {
                self.end();
            }
            self.literal(part, false);
        }
    }

    /// Adds the elements of a list, each a field of its own.
    pub(super) fn list(&mut self, values: &[String], separators: Option<&str>) {
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.end();
            }
            self.value(value, separators);
        }
    }

    fn finish(mut self) -> Vec<Field> {
        self.end();
        let length: usize = self.done.iter().map(|field| field.text.len()).sum();
        if length > LONGEST { vec![Field::plain(UNKNOWN.to_string())] } else { self.done }
    }
}

impl Walker<'_> {
    /// Expands a word of a command into fields.
    pub(super) fn fields(&mut self, raw: &str, state: &mut State) -> Vec<Field> {
        self.spend_on(raw);
        if !raw.contains(['\'', '"', '\\', '$', '`', '{', '*', '?', '[', '~']) {
            return vec![Field::plain(raw)];
        }
        let mut fields = Vec::new();
        for word in expand_braces(raw) {
            let mut out = Fields::default();
            self.expand(&word, Mode::Word, &mut out, state);
            fields.extend(out.finish());
        }
        fields
    }

    /// Expands a text that stays one: an assigned value, the target of a redirection, a here-document.
    pub(super) fn text_of(&mut self, raw: &str, mode: Mode, state: &mut State) -> String {
        self.spend_on(raw);
        let mut out = Fields::default();
        self.expand(raw, mode, &mut out, state);
        let texts: Vec<String> = out.finish().into_iter().map(|field| field.text).collect();
        texts.join(" ")
    }

    pub(super) fn expand(&mut self, raw: &str, mode: Mode, out: &mut Fields, state: &mut State) {
        let quoted = matches!(mode, Mode::Double | Mode::Here);
        let mut at = 0;
        while at < raw.len() && !self.is_over() {
            let special = |byte: u8| match mode {
                Mode::Word => matches!(byte, b'\\' | b'\'' | b'"' | b'$' | b'`' | b'*' | b'?' | b'[' | b'~'),
                Mode::Single => matches!(byte, b'\\' | b'\'' | b'"' | b'$' | b'`' | b'~'),
                Mode::Double => matches!(byte, b'\\' | b'"' | b'$' | b'`'),
                Mode::Here => matches!(byte, b'\\' | b'$' | b'`'),
            };
            let rest = &raw.as_bytes()[at..];
            let length = rest.iter().position(|byte| special(*byte)).unwrap_or(rest.len());
            let plain = &raw[at..at + length];
            match mode {
                // Blanks are bare only in the word of a `${…}`.
                Mode::Word => out.value(plain, Some(" \t\n")),
                Mode::Single | Mode::Double | Mode::Here => out.literal(plain, quoted),
            }
            at += length;
            at = match raw.as_bytes().get(at) {
                None => break,
                Some(b'\\') => escaped(raw, at, mode, out),
                Some(b'~') => tilde(raw, at, out, state),
                Some(b'*' | b'?') => {
                    out.literal(&GLOB.to_string(), false);
                    at + 1
                }
                Some(b'[') => bracket(raw, at, out),
                Some(_) => self.piece(raw, at, mode, out, state),
            };
        }
    }

    /// Expands the quoted or substituted piece at `at`, and returns where it ends.
    fn piece(&mut self, raw: &str, at: usize, mode: Mode, out: &mut Fields, state: &mut State) -> usize {
        let Ok((piece, end)) = extent(raw, at, mode) else {
            self.risky("holds text that cannot be taken apart");
            out.literal(&UNKNOWN.to_string(), false);
            return raw.len();
        };
        let separators = state.get("IFS").map(|value| value.concat()).unwrap_or_else(|| " \t\n".to_owned());
        let separators = if mode == Mode::Word { Some(separators.as_str()) } else { None };
        match piece {
            Piece::Literal(text) => out.literal(text, true),
            Piece::Ansi(text) => out.literal(&decode_ansi(text), true),
            Piece::Double(text) => {
                out.literal("", true);
                self.expand(text, Mode::Double, out, state);
            }
            Piece::Command(text) => {
                let printed = self.capture(text, state);
                out.value(&printed, separators);
            }
            Piece::Backquoted(text) => {
                let text = unescaped(text, mode);
                let printed = self.capture(&text, state);
                out.value(&printed, separators);
            }
            Piece::Arithmetic(text) => {
                let value = self.arithmetic(text, state);
                out.value(&value, separators);
            }
            Piece::Parameter(text) => match self.parameter(text, mode, state) {
                Expansion::Values(values) => out.list(&values, separators),
                Expansion::Word(word) => {
                    let mode = if mode == Mode::Double { Mode::Single } else { mode };
                    self.deeper(|walker| walker.expand(word, mode, out, state));
                }
            },
        }
        end
    }

    /// Judges what an arithmetic expression runs, and returns its value if it is a plain number.
    pub(super) fn arithmetic(&mut self, text: &str, state: &mut State) -> String {
        // A variable's text is itself arithmetic there, and may hold a substitution.
        for name in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            let value = state.get(name).map(<[String]>::concat).unwrap_or_default();
            self.hidden_substitutions(&value, state);
        }
        let value = self.text_of(text, Mode::Double, state);
        self.hidden_substitutions(&value, state);
        let value = value.trim();
        let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { value.to_owned() } else { UNKNOWN.to_string() }
    }

    /// Judges the substitutions in a text that the shell expands once more.
    pub(super) fn hidden_substitutions(&mut self, text: &str, state: &mut State) {
        if text.contains("$(") || text.contains('`') {
            self.deeper(|walker| _ = walker.text_of(&text.replace(UNKNOWN, ""), Mode::Here, state));
        }
    }
}

/// A piece of a word that begins with a quote, a dollar sign or a backquote.
enum Piece<'t> {
    Literal(&'t str),
    Ansi(&'t str),
    Double(&'t str),
    Command(&'t str),
    Backquoted(&'t str),
    Arithmetic(&'t str),
    /// What stands between `${` and `}`, or the bare name after `$`.
    Parameter(&'t str),
}

/// Takes apart the piece at `at`.
fn extent(raw: &str, at: usize, mode: Mode) -> Result<(Piece<'_>, usize), Unreadable> {
    let open = Unreadable::Open("a quote");
    let quoted = if matches!(mode, Mode::Word | Mode::Single) { Quoted::No } else { Quoted::Double };
    let mut scanner = Scanner::new(raw, at, Extglob::Off);
    scanner.piece(quoted)?;
    let end = scanner.at;
    let inner = |skip: usize, close: usize| raw.get(at + skip..end - close).ok_or(open);
    let next = raw.as_bytes().get(at + 1).copied();
    let piece = match (raw.as_bytes()[at], next, quoted) {
        (b'\'', _, Quoted::No) => Piece::Literal(inner(1, 1)?),
        (b'"', _, Quoted::No) => Piece::Double(inner(1, 1)?),
        (b'`', _, _) => Piece::Backquoted(inner(1, 1)?),
        (b'$', Some(b'\''), Quoted::No) => Piece::Ansi(inner(2, 1)?),
        (b'$', Some(b'"'), Quoted::No) => Piece::Double(inner(2, 1)?),
        (b'$', Some(b'['), _) => Piece::Arithmetic(inner(2, 1)?),
        (b'$', Some(b'{'), _) => Piece::Parameter(inner(2, 1)?),
        (b'$', Some(b'('), _) if is_arithmetic(raw, at, end) => Piece::Arithmetic(inner(3, 2)?),
        (b'$', Some(b'('), _) => Piece::Command(inner(2, 1)?),
        (b'$', Some(_), _) => {
            let end = at + 1 + name_length(&raw[at + 1..]);
            let name = &raw[at + 1..end];
            return Ok((if name.is_empty() { Piece::Literal("$") } else { Piece::Parameter(name) }, end));
        }
        _ => return Ok((Piece::Literal(&raw[at..at + 1]), at + 1)),
    };
    Ok((piece, end))
}

fn is_arithmetic(raw: &str, at: usize, end: usize) -> bool {
    let mut scanner = Scanner::new(raw, at + 3, Extglob::Off);
    raw[at..].starts_with("$((") && scanner.arithmetic() == Ok(true) && scanner.at == end
}

/// Returns the length of the parameter's name at the start of `rest`.
pub(super) fn name_length(rest: &str) -> usize {
    match rest.as_bytes().first() {
        Some(b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!') => 1,
        Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => {
            rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count()
        }
        Some(_) | None => 0,
    }
}

/// Adds what a backslash hides, and returns where that ends.
fn escaped(raw: &str, at: usize, mode: Mode, out: &mut Fields) -> usize {
    let Some(next) = raw[at + 1..].chars().next() else {
        out.literal("\\", true);
        return at + 1;
    };
    let hides = match mode {
        Mode::Word | Mode::Single => true,
        Mode::Double => matches!(next, '$' | '`' | '"' | '\\' | '\n'),
        Mode::Here => matches!(next, '$' | '`' | '\\' | '\n'),
    };
    if !hides {
        out.literal("\\", true);
        return at + 1;
    }
    let end = at + 1 + next.len_utf8();
    if next != '\n' {
        out.literal(&raw[at + 1..end], true);
    }
    end
}

fn tilde(raw: &str, at: usize, out: &mut Fields, state: &State) -> usize {
    let user = raw[at + 1..].split('/').next().unwrap_or_default();
    match (at, user) {
        (0, "") => out.literal(&state.text("HOME"), true),
        (0, "+") => out.literal(&state.text("PWD"), true),
        (0, _) => out.literal(&UNKNOWN.to_string(), true),
        _ => {
            out.literal("~", false);
            return at + 1;
        }
    }
    at + 1 + user.len()
}

/// Adds `[…]`, which is a pattern if it is closed.
fn bracket(raw: &str, at: usize, out: &mut Fields) -> usize {
    match raw[at + 1..].find(']') {
        Some(length) if length > 0 && !raw[at + 1..at + 1 + length].contains(['$', '`', '\'', '"']) => {
            out.literal(&GLOB.to_string(), false);
            at + length + 2
        }
        Some(_) | None => {
            out.literal("[", false);
            at + 1
        }
    }
}

/// Takes out the backslashes that backquotes need.
fn unescaped(text: &str, mode: Mode) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let hides = |next: &char| matches!(next, '$' | '`' | '\\') || (mode == Mode::Double && *next == '"');
        match characters.next_if(|next| character == '\\' && hides(next)) {
            Some(next) => plain.push(next),
            None => plain.push(character),
        }
    }
    plain
}
