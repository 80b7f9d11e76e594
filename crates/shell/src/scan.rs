//! Finds where quoted and substituted text ends, as bash does, in one pass over the bytes.
//!
//! The shell's text is cut twice: here, and by the parser's own tokenizer. The two have to agree
//! ([`super::parse`]), so that a mistake of one of them cannot hide a command. Where the parser is known to
//! read a construct otherwise than bash does, the text is [`Unreadable::Ambiguous`] and refused.
//!
//! Every `at` moves forward only, and every nested construct counts towards [`DEEPEST`]: the scanner can be
//! neither looped nor made to overflow the stack.

use std::fmt;

/// How deep constructs may be nested. People stay below five; parsers that backtrack take exponential time.
pub(super) const DEEPEST: usize = 12;

/// Steps that one text may cost, in tokens and nested attempts; a text of the largest size takes a tenth.
const FUEL: u32 = 400_000;

/// Why a text cannot be cut into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    TooDeep,
    TooLong,
    Open(&'static str),
    /// Shells or their versions disagree about it, or the parser reads it otherwise.
    Ambiguous(&'static str),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooDeep => write!(f, "more than {DEEPEST} constructs are nested in one another"),
            Self::TooLong => f.write_str("it is too intricate for its length"),
            Self::Open(what) => write!(f, "{what} is not closed"),
            Self::Ambiguous(what) => write!(f, "{what} can be read in more than one way"),
        }
    }
}

/// Whether `@(…)` and its kin are one word. Off in `bash -c`, always on inside `[[ … ]]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extglob {
    Off,
    On,
}

/// Whether text stands inside double quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quoted {
    No,
    Double,
}

/// A position in a text, with what bounds the work.
pub(super) struct Scanner<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) extglob: Extglob,
    depth: usize,
    fuel: u32,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str, at: usize, extglob: Extglob) -> Self {
        Self { text, at, extglob, depth: 0, fuel: FUEL }
    }

    pub(super) fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    pub(super) fn before(&self) -> Option<u8> {
        self.at.checked_sub(1).and_then(|index| self.text.as_bytes().get(index).copied())
    }

    pub(super) fn spend(&mut self) -> Result<(), Unreadable> {
        self.fuel = self.fuel.checked_sub(1).ok_or(Unreadable::TooLong)?;
        Ok(())
    }

    /// Runs `inner` one level deeper.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T, Unreadable>) -> Result<T, Unreadable> {
        if self.depth >= DEEPEST {
            return Err(Unreadable::TooDeep);
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Passes `'…'`.
    pub(super) fn single_quotes(&mut self) -> Result<(), Unreadable> {
        let rest = &self.text.as_bytes()[self.at + 1..];
        let length = rest.iter().position(|byte| *byte == b'\'').ok_or(Unreadable::Open("a single quote"))?;
        self.at += length + 2;
        Ok(())
    }

    /// Passes the quotes of `$'…'`, in which a backslash hides the next character.
    fn ansi_quotes(&mut self) -> Result<(), Unreadable> {
        self.at += 1;
        while let Some(byte) = self.byte(0) {
            match byte {
                b'\'' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        Err(Unreadable::Open("a single quote"))
    }

    /// Passes `"…"`.
    pub(super) fn double_quotes(&mut self) -> Result<(), Unreadable> {
        self.nested(|scanner| {
            scanner.at += 1;
            while let Some(byte) = scanner.byte(0) {
                match byte {
                    b'"' => {
                        scanner.at += 1;
                        return Ok(());
                    }
                    b'\\' => scanner.at += 2,
                    b'$' => scanner.dollar(Quoted::Double)?,
                    b'`' => scanner.backquotes()?,
                    _ => scanner.at += 1,
                }
            }
            Err(Unreadable::Open("a double quote"))
        })
    }

    /// Passes the text of a here-document whose delimiter is not quoted, up to `end`.
    pub(super) fn expanded_text(&mut self, end: usize) -> Result<(), Unreadable> {
        while self.at < end {
            match self.byte(0) {
                Some(b'\\') => self.at += 2,
                Some(b'$') => self.dollar(Quoted::Double)?,
                Some(b'`') => self.backquotes()?,
                Some(_) | None => self.at += 1,
            }
        }
        if self.at > end + 1 { Err(Unreadable::Open("a substitution in a here-document")) } else { Ok(()) }
    }

    /// Passes `` `…` ``. What is inside is read when it is run.
    pub(super) fn backquotes(&mut self) -> Result<(), Unreadable> {
        self.nested(|scanner| {
            scanner.at += 1;
            while let Some(byte) = scanner.byte(0) {
                match byte {
                    b'`' => {
                        scanner.at += 1;
                        return Ok(());
                    }
                    b'\\' => scanner.at += 2,
                    _ => scanner.at += 1,
                }
            }
            Err(Unreadable::Open("a backquote"))
        })
    }

    /// Passes a dollar sign and the construct that it opens, if any.
    pub(super) fn dollar(&mut self, quoted: Quoted) -> Result<(), Unreadable> {
        match (self.byte(1), quoted) {
            (Some(b'('), _) => self.parentheses(),
            (Some(b'{'), _) => self.nested(|scanner| scanner.braces(quoted)),
            (Some(b'['), _) => self.nested(Self::brackets),
            (Some(b'\''), Quoted::No) => {
                self.at += 1;
                self.ansi_quotes()
            }
            (Some(b'"'), Quoted::No) => {
                self.at += 1;
                self.double_quotes()
            }
            (Some(b'$'), Quoted::No) if self.byte(2) == Some(b'\'') => Err(Unreadable::Ambiguous("`$$'`")),
            (Some(b'\\'), _) if self.byte(2) == Some(b'\n') => {
                Err(Unreadable::Ambiguous("a dollar sign at the end of a line"))
            }
            (Some(b'$'), _) => {
                self.at += 2;
                Ok(())
            }
            (Some(_) | None, _) => {
                self.at += 1;
                Ok(())
            }
        }
    }

    /// Passes `$(…)` or `$((…))`.
    fn parentheses(&mut self) -> Result<(), Unreadable> {
        self.nested(|scanner| {
            let start = scanner.at;
            if scanner.byte(2) == Some(b'(') {
                scanner.at += 3;
                if scanner.arithmetic()? {
                    return Ok(());
                }
                scanner.at = start;
            }
            scanner.at += 2;
            scanner.commands(Some(b')'), None)
        })
    }

    /// Passes the rest of `$((…))`; false if it turns out to be a subshell inside `$(…)`.
    pub(super) fn arithmetic(&mut self) -> Result<bool, Unreadable> {
        let mut open = 0_usize;
        while let Some(byte) = self.byte(0) {
            self.spend()?;
            match byte {
                b'(' => {
                    open += 1;
                    if open + self.depth > DEEPEST {
                        return Err(Unreadable::TooDeep);
                    }
                    self.at += 1;
                }
                b')' if open > 0 => {
                    open -= 1;
                    self.at += 1;
                }
                b')' if self.byte(1) == Some(b')') => {
                    self.at += 2;
                    return Ok(true);
                }
                b')' => return Ok(false),
                _ => self.piece(Quoted::No)?,
            }
        }
        Ok(false)
    }

    /// Passes `$[…]`, the old form of arithmetic.
    fn brackets(&mut self) -> Result<(), Unreadable> {
        self.at += 2;
        let mut open = 0_usize;
        while let Some(byte) = self.byte(0) {
            match byte {
                b']' if open == 0 => {
                    self.at += 1;
                    return Ok(());
                }
                b']' => open -= 1,
                b'[' => open += 1,
                _ => {
                    self.piece(Quoted::No)?;
                    continue;
                }
            }
            self.at += 1;
        }
        Err(Unreadable::Open("`$[`"))
    }

    /// Passes `${…}`.
    fn braces(&mut self, quoted: Quoted) -> Result<(), Unreadable> {
        self.at += 2;
        // Newer shells run the commands in `${ …; }`; older ones refuse it.
        if matches!(self.byte(0), Some(b' ' | b'\t' | b'\n' | b'|' | b'(')) {
            return Err(Unreadable::Ambiguous("`${` followed by a command"));
        }
        while let Some(byte) = self.byte(0) {
            match (byte, quoted) {
                (b'}', _) => {
                    self.at += 1;
                    return Ok(());
                }
                (b'\'', Quoted::Double) => {
                    return Err(Unreadable::Ambiguous("a single quote in `\"${…}\"`"));
                }
                (_, Quoted::No | Quoted::Double) => self.piece(quoted)?,
            }
        }
        Err(Unreadable::Open("`${`"))
    }

    /// Passes one character or one quoted or substituted piece.
    pub(super) fn piece(&mut self, quoted: Quoted) -> Result<(), Unreadable> {
        match self.byte(0) {
            Some(b'\\') => self.at += 2,
            Some(b'\'') => self.single_quotes()?,
            Some(b'"') => self.double_quotes()?,
            Some(b'$') => self.dollar(quoted)?,
            Some(b'`') => self.backquotes()?,
            Some(_) | None => self.at += 1,
        }
        Ok(())
    }
}
