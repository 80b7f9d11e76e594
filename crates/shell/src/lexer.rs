//! Cuts a command into the words and operators of the shell's grammar, here-documents included.

use super::scan::{Extglob, Scanner, Unreadable};

/// A word or an operator, and where it stands in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) operator: bool,
    pub(super) text: String,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Every operator, longest first where one begins another.
const OPERATORS: [&str; 23] = [
    "&>>", "<<<", "<<-", ";;&", "&&", "||", ";;", ";&", "|&", "&>", "<<", ">>", ">&", "<&", "<>", ">|", "&",
    "|", ";", "<", ">", "(", ")",
];

/// A here-document whose body starts after the current line.
struct HereDocument {
    delimiter: String,
    quoted: bool,
    tabs_removed: bool,
    /// Where the tokens for text and end belong, if tokens are kept.
    slot: Option<usize>,
}

/// Cuts `text` into tokens. A here-document is three words: its delimiter, its text, its delimiter; its text's
/// place reaches to the end of its last line.
pub(super) fn lex(text: &str, extglob: Extglob) -> Result<Vec<Token>, Unreadable> {
    let mut tokens = Vec::new();
    Scanner::new(text, 0, extglob).commands(None, Some(&mut tokens))?;
    Ok(tokens)
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

fn is_operator(byte: u8) -> bool {
    matches!(byte, b'&' | b'(' | b')' | b';' | b'\n' | b'|' | b'<' | b'>')
}

impl Scanner<'_> {
    /// Passes commands up to `close`, or to the end of the text.
    pub(super) fn commands(
        &mut self,
        close: Option<u8>,
        mut tokens: Option<&mut Vec<Token>>,
    ) -> Result<(), Unreadable> {
        let mut open = 0_usize;
        let mut here: Vec<HereDocument> = Vec::new();
        let mut delimiter_next: Option<bool> = None;
        loop {
            self.spend()?;
            self.blanks()?;
            let Some(byte) = self.byte(0) else { break };
            if byte == b'#' {
                self.comment();
                continue;
            }
            if Some(byte) == close && open == 0 {
                self.at += 1;
                return if here.is_empty() {
                    Ok(())
                } else {
                    Err(Unreadable::Ambiguous("a here-document that outlasts its line"))
                };
            }
            let start = self.at;
            if is_operator(byte) {
                let operator = self.operator();
                match operator {
                    "(" => open += 1,
                    ")" => open = open.saturating_sub(1),
                    _ => {}
                }
                if delimiter_next.is_some() {
                    return Err(Unreadable::Open("a here-document"));
                }
                delimiter_next = match operator {
                    "<<" => Some(false),
                    "<<-" => Some(true),
                    _ => None,
                };
                keep(&mut tokens, true, operator, start, self.at);
                if operator == "\n" {
                    self.here_documents(&mut here, &mut tokens)?;
                }
                continue;
            }
            self.word()?;
            let raw = &self.text[start..self.at];
            let word = raw.strip_suffix("\\\n").unwrap_or(raw);
            keep(&mut tokens, false, word, start, start + word.len());
            if let Some(tabs_removed) = delimiter_next.take() {
                let (delimiter, quoted) = delimiter(word)?;
                let slot = tokens.as_ref().map(|tokens| tokens.len());
                keep(&mut tokens, false, "", self.at, self.at);
                keep(&mut tokens, false, &delimiter, self.at, self.at);
                here.push(HereDocument { delimiter, quoted, tabs_removed, slot });
            }
        }
        if close.is_some() {
            return Err(Unreadable::Open("`$(`"));
        }
        if here.is_empty() && delimiter_next.is_none() {
            Ok(())
        } else {
            Err(Unreadable::Open("a here-document"))
        }
    }

    /// Passes blanks and continued lines.
    fn blanks(&mut self) -> Result<(), Unreadable> {
        while let Some(byte) = self.byte(0) {
            if is_blank(byte) {
                self.at += 1;
            } else if byte == b'\\' && self.byte(1) == Some(b'\n') {
                // `&` and `&` on two continued lines are one `&&` to bash.
                if self.before().is_some_and(is_operator) && self.byte(2).is_some_and(is_operator) {
                    return Err(Unreadable::Ambiguous("an operator on two lines"));
                }
                self.at += 2;
            } else {
                break;
            }
        }
        Ok(())
    }

    fn comment(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    }

    fn operator(&mut self) -> &'static str {
        let rest = &self.text[self.at..];
        let operator =
            OPERATORS.iter().find(|operator| rest.starts_with(**operator)).copied().unwrap_or("\n");
        self.at += operator.len();
        operator
    }

    /// Passes one word.
    fn word(&mut self) -> Result<(), Unreadable> {
        while let Some(byte) = self.byte(0) {
            match byte {
                b'(' if self.extglob == Extglob::On && self.opens_pattern() => self.pattern()?,
                _ if is_blank(byte) || is_operator(byte) => return Ok(()),
                b'\\' => self.escape()?,
                _ => self.piece(super::scan::Quoted::No)?,
            }
        }
        if self.at > self.text.len() { Err(Unreadable::Open("an escape")) } else { Ok(()) }
    }

    fn opens_pattern(&self) -> bool {
        matches!(self.before(), Some(b'@' | b'!' | b'?' | b'+' | b'*'))
    }

    /// Passes the parentheses of an extended pattern.
    fn pattern(&mut self) -> Result<(), Unreadable> {
        let mut open = 0_usize;
        while let Some(byte) = self.byte(0) {
            match byte {
                b'\'' | b'"' | b'$' | b'`' => return Err(Unreadable::Ambiguous("a quoted pattern")),
                b'(' => open += 1,
                b')' => open -= 1,
                b'\\' => self.at += 1,
                _ => {}
            }
            self.at += 1;
            if open == 0 {
                return Ok(());
            }
        }
        Err(Unreadable::Open("a pattern"))
    }

    /// Passes a backslash and what it hides.
    fn escape(&mut self) -> Result<(), Unreadable> {
        match (self.byte(1), self.byte(2)) {
            (Some(b'\n'), next) => match next {
                Some(byte) if is_blank(byte) || matches!(byte, b'\n' | b';' | b'&' | b'|' | b')') => {}
                None => {}
                Some(_) => return Err(Unreadable::Ambiguous("a word on two lines")),
            },
            (Some(b'$'), Some(b'\'')) => return Err(Unreadable::Ambiguous("`\\$'`")),
            (None, _) => return Err(Unreadable::Open("an escape")),
            (Some(_), _) => {}
        }
        self.at += 2;
        Ok(())
    }

    /// Passes the texts of the here-documents that begin on the line that has just ended.
    fn here_documents(
        &mut self,
        here: &mut Vec<HereDocument>,
        tokens: &mut Option<&mut Vec<Token>>,
    ) -> Result<(), Unreadable> {
        for document in here.drain(..) {
            let start = self.at;
            let (end, after) = self.here_end(&document)?;
            if !document.quoted {
                self.expanded_text(end)?;
            }
            self.at = after;
            if let (Some(slot), Some(tokens)) = (document.slot, tokens.as_mut()) {
                let text = &self.text[start..end];
                let text = if document.tabs_removed { without_tabs(text) } else { text.to_owned() };
                tokens[slot] = Token { operator: false, text, start, end: after };
            }
        }
        Ok(())
    }

    /// Returns where a here-document's text ends, and where the text after its last line begins.
    fn here_end(&mut self, document: &HereDocument) -> Result<(usize, usize), Unreadable> {
        let mut start = self.at;
        let mut continued = false;
        while start < self.text.len() {
            self.spend()?;
            let rest = &self.text[start..];
            let length = rest.find('\n').unwrap_or(rest.len());
            let line = &rest[..length];
            let bare = if document.tabs_removed { line.trim_start_matches('\t') } else { line };
            let after = (start + length + 1).min(self.text.len());
            if bare == document.delimiter {
                return if continued {
                    Err(Unreadable::Ambiguous("a here-document's end after a continued line"))
                } else {
                    Ok((start, after))
                };
            }
            let slashes = line.bytes().rev().take_while(|byte| *byte == b'\\').count();
            continued = !document.quoted && slashes % 2 == 1;
            start = after;
        }
        Err(Unreadable::Open("a here-document"))
    }
}

fn keep(tokens: &mut Option<&mut Vec<Token>>, operator: bool, text: &str, start: usize, end: usize) {
    if let Some(tokens) = tokens {
        tokens.push(Token { operator, text: text.to_owned(), start, end });
    }
}

fn without_tabs(text: &str) -> String {
    text.split_inclusive('\n').map(|line| line.trim_start_matches('\t')).collect()
}

/// Reads a here-document's delimiter. Odd ones are read differently by different shells.
fn delimiter(word: &str) -> Result<(String, bool), Unreadable> {
    let plain = |text: &str| !text.contains(['\'', '"', '\\', '$', '`']);
    let inner = |quote: char| word.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    let quoted = inner('\'').or_else(|| inner('"')).or_else(|| word.strip_prefix('\\'));
    match quoted {
        Some(text) if plain(text) && !text.is_empty() => Ok((text.to_owned(), true)),
        None if plain(word) => Ok((word.to_owned(), false)),
        Some(_) | None => Err(Unreadable::Ambiguous("a here-document's delimiter")),
    }
}
