//! Reads a program's arguments: options, their values, operands.
//!
//! Long options may be shortened as long as they are clear, so what is refused is looked for by any beginning
//! of its name ([`Options::has`]), and what is allowed only by the whole of it ([`Options::is`]).

use super::{parse::UNKNOWN, word::Field};

/// Which options of a program take a value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spec {
    /// Short options whose value is the rest of the argument, or the next one.
    pub(super) short: &'static str,
    /// Short options whose value can only be the rest of the argument.
    pub(super) attached: &'static str,
    /// Long options whose value may be the next argument, however shortened.
    pub(super) long: &'static [&'static str],
}

/// One option of a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GivenOption<'f> {
    /// `f` or `force`.
    name: &'f str,
    value: Option<&'f str>,
    long: bool,
}

/// Arguments, taken apart.
#[derive(Debug, Default)]
pub(super) struct Options<'f> {
    given: Vec<GivenOption<'f>>,
    pub(super) operands: Vec<&'f str>,
    /// What follows `--`; `None` without one.
    pub(super) after_dashes: Option<Vec<&'f str>>,
    /// Whether an argument may be something else once the command runs.
    pub(super) unknown: bool,
}

impl<'f> Options<'f> {
    pub(super) fn read(arguments: &'f [Field], spec: &Spec) -> Self {
        let mut options = Self::default();
        let mut rest = arguments.iter();
        while let Some(field) = rest.next() {
            let text = field.text.as_str();
            if let Some(after) = &mut options.after_dashes {
                after.push(text);
            } else if text == "--" {
                options.after_dashes = Some(Vec::new());
            } else if let Some(long) = text.strip_prefix("--") {
                options.long_option(long, spec, &mut rest);
            } else if text.len() > 1 && text.starts_with('-') {
                options.cluster(&text[1..], spec, &mut rest);
            } else {
                options.unknown |= text.starts_with(UNKNOWN);
                options.operands.push(text);
            }
        }
        options
    }

    fn long_option(&mut self, text: &'f str, spec: &Spec, rest: &mut std::slice::Iter<'f, Field>) {
        self.unknown |= text.contains(UNKNOWN) && !text.contains('=');
        let (name, mut value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let takes_value = |long: &&str| !name.is_empty() && long.starts_with(name);
        if value.is_none() && spec.long.iter().any(takes_value) {
            value = rest.next().map(|field| field.text.as_str());
        }
        self.given.push(GivenOption { name, value, long: true });
    }

    fn cluster(&mut self, text: &'f str, spec: &Spec, rest: &mut std::slice::Iter<'f, Field>) {
        for (at, character) in text.char_indices() {
            let end = at + character.len_utf8();
            let name = &text[at..end];
            let tail = Some(&text[end..]).filter(|tail| !tail.is_empty());
            self.unknown |= character == UNKNOWN;
            if spec.short.contains(character) {
                let value = tail.or_else(|| rest.next().map(|field| field.text.as_str()));
                return self.given.push(GivenOption { name, value, long: false });
            }
            if spec.attached.contains(character) {
                return self.given.push(GivenOption { name, value: tail, long: false });
            }
            self.given.push(GivenOption { name, value: None, long: false });
        }
    }

    /// Whether one of the short options in `letters` was given.
    pub(super) fn short(&self, letters: &str) -> bool {
        self.given.iter().any(|given| !given.long && letters.contains(given.name))
    }

    /// Whether a long option was given, however shortened.
    pub(super) fn has(&self, name: &str) -> bool {
        let is =
            |given: &&GivenOption<'_>| given.long && !given.name.is_empty() && name.starts_with(given.name);
        self.given.iter().any(|given| is(&given))
    }

    pub(super) fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.has(name))
    }

    /// Whether a long option was given in full.
    pub(super) fn is(&self, name: &str) -> bool {
        self.given.iter().any(|given| given.long && given.name == name)
    }

    pub(super) fn is_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.is(name))
    }

    /// Returns the values that were given to an option, by letter or by name.
    pub(super) fn values(&self, letter: &str, name: &str) -> Vec<&'f str> {
        let asked = |given: &&GivenOption<'_>| {
            if given.long {
                !given.name.is_empty() && name.starts_with(given.name)
            } else {
                given.name == letter
            }
        };
        self.given.iter().filter(asked).filter_map(|given| given.value).collect()
    }

    /// Whether no other options were given than these letters and names.
    pub(super) fn only(&self, letters: &str, names: &[&str]) -> bool {
        let known = |given: &GivenOption<'_>| {
            if given.long { names.contains(&given.name) } else { letters.contains(given.name) }
        };
        self.given.iter().all(known)
    }

    pub(super) fn has_options(&self) -> bool {
        !self.given.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.has_options() && self.operands.is_empty() && self.after_dashes.is_none()
    }

    /// Returns operands, and what follows `--`.
    pub(super) fn all_operands(&self) -> impl Iterator<Item = &'f str> {
        self.operands.iter().chain(self.after_dashes.iter().flatten()).copied()
    }
}

/// Whether a program is asked for its help, and for nothing else: another option might take that for its value.
pub(super) fn asks_help<'w>(words: impl DoubleEndedIterator<Item = &'w str>) -> bool {
    let mut words = words.rev();
    matches!(words.next(), Some("--help" | "-h")) && !words.any(|word| word.starts_with('-'))
}

/// Skips a program's own options, and the values of those that take one.
pub(super) fn after_options<'f>(arguments: &'f [Field], short: &str, long: &[&str]) -> &'f [Field] {
    let mut rest = arguments;
    while let [first, tail @ ..] = rest {
        let Some(option) = first.text.strip_prefix('-').filter(|option| !option.is_empty()) else { break };
        let takes_next = match option.strip_prefix('-') {
            Some("") => return tail,
            Some(name) => long.contains(&name),
            None => option.find(|letter| short.contains(letter)).is_some_and(|at| at + 1 == option.len()),
        };
        rest = if takes_next { tail.get(1..).unwrap_or_default() } else { tail };
    }
    rest
}
