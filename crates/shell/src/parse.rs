//! Reads a text as a shell program, within limits.
//!
//! The grammar is the parser's; the words are cut by [`super::lexer`] and, a second time, by the parser's own
//! tokenizer. If the two do not cut alike, the text is refused. Recursive parsers can be attacked, so what
//! they recurse on is counted first: a command that makes a hook crash or hang would not be stopped by it.

use std::{
    borrow::Cow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use brush_parser::{ParserOptions, SourcePosition, SourceSpan, ast};

use super::{
    lexer::{Token, lex},
    scan::{DEEPEST, Extglob, Unreadable},
};

/// The longest text that is read, without its here-documents. A command is some hundred bytes.
const LONGEST: usize = 32 * 1024;

/// The longest text with its here-documents, which are not taken apart: files are written that way. No system takes a
/// longer command.
const LONGEST_WITH_DOCUMENTS: usize = 256 * 1024;

/// The most `$(`, `${` and `$[` in one text, on each of which the tokenizer recurses if they are nested.
const SUBSTITUTIONS: usize = 512;

/// The most tokens times attempts. The grammar tries a `case` twice at every level, so its cost doubles.
const ATTEMPTS: usize = 1 << 16;

/// Stands for text that is not known before the command runs. Not in any readable command.
pub(super) const UNKNOWN: char = '\0';

/// Stands for what a pattern such as `*` may become: any text without a slash.
pub(super) const GLOB: char = '\u{1}';

/// A program, and how it had to be cut.
pub(super) struct Reading {
    pub(super) program: ast::Program,
    pub(super) extglob: Extglob,
}

/// Reads `text`, or says in a fragment of a sentence why it cannot be read.
pub(super) fn parse(text: &str) -> Result<Reading, String> {
    within_limits(text)?;
    match attempt(text, Extglob::Off) {
        Ok(program) => Ok(Reading { program, extglob: Extglob::Off }),
        // Inside `[[ … ]]` extended patterns are read even where they are switched off elsewhere.
        Err(error) if text.contains("[[") && has_pattern(text) => match attempt(text, Extglob::On) {
            Ok(program) => Ok(Reading { program, extglob: Extglob::On }),
            Err(_) => Err(error),
        },
        Err(error) => Err(error),
    }
}

fn has_pattern(text: &str) -> bool {
    ["@(", "!(", "?(", "+(", "*("].iter().any(|opener| text.contains(opener))
}

fn within_limits(text: &str) -> Result<(), String> {
    if text.len() > LONGEST_WITH_DOCUMENTS {
        return Err(format!("it is longer than {LONGEST_WITH_DOCUMENTS} bytes"));
    }
    let (length, openers) = measured(text);
    if length > LONGEST {
        return Err(format!("it is longer than {LONGEST} bytes"));
    }
    if text.contains([UNKNOWN, GLOB]) {
        return Err("it contains control characters".to_owned());
    }
    if openers > SUBSTITUTIONS {
        return Err(format!("it contains more than {SUBSTITUTIONS} substitutions"));
    }
    Ok(())
}

/// Returns the length of a text without its here-documents.
pub(super) fn length(text: &str) -> usize {
    measured(text).0
}

/// Returns the length of a text without its here-documents, and how many substitutions the shell would make in it.
fn measured(text: &str) -> (usize, usize) {
    let openers =
        |text: &str| text.as_bytes().windows(2).filter(|pair| matches!(*pair, b"$(" | b"${" | b"$[")).count();
    let whole = (text.len(), openers(text));
    if whole.0 <= LONGEST && whole.1 <= SUBSTITUTIONS {
        return whole;
    }
    let Ok(tokens) = lex(text, Extglob::Off) else { return whole };
    let is_here = |token: &Token| token.operator && matches!(token.text.as_str(), "<<" | "<<-");
    let is_quoted = |word: &Token| word.text.starts_with(['\'', '"', '\\']);
    let (mut length, mut count) = whole;
    for here in tokens.windows(3).filter(|here| is_here(&here[0])) {
        length -= here[2].text.len().min(length);
        if is_quoted(&here[1]) {
            count -= openers(&here[2].text).min(count);
        }
    }
    (length, count)
}

fn attempt(text: &str, extglob: Extglob) -> Result<ast::Program, String> {
    let tokens = lex(text, extglob).map_err(|error| error.to_string())?;
    shallow(&tokens).map_err(|error| error.to_string())?;
    let options = ParserOptions {
        enable_extended_globbing: extglob == Extglob::On,
        tilde_expansion_at_word_start: false,
        ..ParserOptions::default()
    };
    // The parser gives up on some numbers and positions with a panic; that is a refusal like any other.
    let parsed = catch_unwind(AssertUnwindSafe(|| {
        if !agrees(text, &tokens, &options) {
            return Err(Unreadable::Ambiguous("it").to_string());
        }
        let tokens = with_subshells_apart(&tokens);
        brush_parser::parse_tokens(&tokens, &options).map_err(|error| near(text, &error))
    }));
    parsed.unwrap_or_else(|_| Err("the parser gave up on it".to_owned()))
}

/// Says where a text stops being a program.
fn near(text: &str, error: &brush_parser::ParseError) -> String {
    let brush_parser::ParseError::ParsingNear(position) = error else {
        return "syntax error at its end".to_owned();
    };
    let found: String = text.get(position.index..).unwrap_or_default().chars().take(24).collect();
    format!("syntax error near `{}`", found.lines().next().unwrap_or_default())
}

/// Whether the parser's own tokenizer cuts the text alike.
///
/// It loses its way where a substitution follows a here-document on one line, so here-documents are taken out
/// of what it is shown. Where they end is a matter of whole lines.
fn agrees(text: &str, tokens: &[Token], options: &ParserOptions) -> bool {
    let (text, tokens) = without_here_documents(text, tokens);
    let Ok(theirs) = brush_parser::uncached_tokenize_str(&text, &options.tokenizer_options()) else {
        return false;
    };
    let alike = |(ours, theirs): (&Token, &brush_parser::Token)| match theirs {
        brush_parser::Token::Operator(operator, _) => ours.operator && *operator == ours.text,
        // Comments and blanks inside a substitution are dropped by the tokenizer.
        brush_parser::Token::Word(word, _) => {
            !ours.operator && (*word == ours.text || ours.text.contains(['$', '`', '\n']))
        }
    };
    theirs.len() == tokens.len() && tokens.iter().zip(&theirs).all(alike)
}

/// Turns every `<<DELIMITER` into `<DELIMITER`, and takes out the lines that belong to it.
fn without_here_documents<'t>(text: &'t str, tokens: &'t [Token]) -> (Cow<'t, str>, Cow<'t, [Token]>) {
    let is_here = |token: &Token| token.operator && matches!(token.text.as_str(), "<<" | "<<-");
    if !tokens.iter().any(is_here) {
        return (Cow::Borrowed(text), Cow::Borrowed(tokens));
    }
    let mut kept = Vec::with_capacity(tokens.len());
    let mut cuts: Vec<(usize, usize)> = Vec::new();
    let mut rest = tokens.iter();
    while let Some(token) = rest.next() {
        kept.push(token.clone());
        if !is_here(token) {
            continue;
        }
        cuts.push((token.start + 1, token.end));
        if let Some(operator) = kept.last_mut() {
            operator.text = "<".to_owned();
        }
        kept.extend(rest.next().cloned());
        cuts.extend(rest.next().map(|body| (body.start, body.end)));
        rest.next();
    }
    cuts.sort_unstable();
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    for (start, end) in cuts {
        shown.push_str(text.get(at..start).unwrap_or_default());
        at = end;
    }
    shown.push_str(text.get(at..).unwrap_or_default());
    (Cow::Owned(shown), Cow::Owned(kept))
}

/// Converts tokens, keeping `( (` from being read as arithmetic.
///
/// The grammar takes two parentheses in a row for arithmetic wherever they stand; to bash they are nested
/// subshells unless both pairs touch. A line break between them tells the two apart.
fn with_subshells_apart(tokens: &[Token]) -> Vec<brush_parser::Token> {
    let mut converted = Vec::with_capacity(tokens.len() + 4);
    for (index, token) in tokens.iter().enumerate() {
        let span = SourceSpan { start: position(token.start), end: position(token.end) };
        converted.push(if token.operator {
            brush_parser::Token::Operator(token.text.clone(), span.clone())
        } else {
            brush_parser::Token::Word(token.text.clone(), span.clone())
        });
        let opens = |index: usize| tokens.get(index).is_some_and(|token| token.operator && token.text == "(");
        if opens(index) && opens(index + 1) && !is_arithmetic(tokens, index) {
            converted.push(brush_parser::Token::Operator("\n".to_owned(), span));
        }
    }
    converted
}

fn position(index: usize) -> Arc<SourcePosition> {
    Arc::new(SourcePosition { index, line: 1, column: index + 1 })
}

/// Whether the two parentheses at `index` and the two that close them each touch.
fn is_arithmetic(tokens: &[Token], index: usize) -> bool {
    let touch = |left: usize| {
        tokens.get(left + 1).is_some_and(|right| tokens[left].end == right.start && right.operator)
    };
    let mut open = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(index + 1).filter(|(_, token)| token.operator) {
        match token.text.as_str() {
            "(" => open += 1,
            ")" if open == 1 => {
                return touch(index) && touch(at) && tokens.get(at + 1).is_some_and(|next| next.text == ")");
            }
            ")" => open -= 1,
            _ => {}
        }
    }
    false
}

/// Counts what the grammar recurses on.
///
/// A closer that does not fit what is open closes nothing: the count is never less than the truth.
fn shallow(tokens: &[Token]) -> Result<(), Unreadable> {
    let mut open: Vec<&str> = Vec::new();
    let (mut deepest_case, mut deepest_parenthesis, mut negations) = (0_usize, 0_usize, 0_usize);
    // Whether a reserved word would be recognised here.
    let mut reserved = true;
    for (index, token) in tokens.iter().enumerate() {
        let text = token.text.as_str();
        if !token.operator && digits_before_redirection(tokens, index) {
            return Err(Unreadable::Ambiguous("the number of a redirection"));
        }
        negations = if text == "!" { negations + 1 } else { 0 };
        match (token.operator, text) {
            (true, "(") => open.push("("),
            (true, ")") if open.last() == Some(&"(") => _ = open.pop(),
            (false, _) if opens(text) && (reserved || names_body(tokens, index)) => open.push(text),
            (false, _) if reserved || text == "]]" => close(&mut open, text),
            _ => {}
        }
        reserved = if token.operator { ends_command(text) } else { reserved && leaves_reserved(text) };
        let count = |kind: &str| open.iter().filter(|opener| **opener == kind).count();
        deepest_case = deepest_case.max(count("case"));
        deepest_parenthesis = deepest_parenthesis.max(count("("));
        if open.len() > DEEPEST || negations > DEEPEST {
            return Err(Unreadable::TooDeep);
        }
    }
    if tokens.len() << (deepest_case + deepest_parenthesis / 2) > ATTEMPTS {
        return Err(Unreadable::TooLong);
    }
    Ok(())
}

fn opens(word: &str) -> bool {
    matches!(word, "{" | "if" | "case" | "for" | "while" | "until" | "select" | "coproc" | "[[")
}

fn ends_command(operator: &str) -> bool {
    matches!(operator, "&" | "&&" | "|" | "||" | "|&" | ";" | "\n" | ";;" | ";&" | ";;&" | "(" | ")")
}

/// Reserved words after which another one may follow.
fn leaves_reserved(word: &str) -> bool {
    matches!(
        word,
        "!" | "{"
            | "if"
            | "then"
            | "elif"
            | "else"
            | "while"
            | "until"
            | "do"
            | "time"
            | "}"
            | "fi"
            | "done"
            | "esac"
    )
}

/// Whether the word at `index` may be the body after `function NAME` or `coproc NAME`.
fn names_body(tokens: &[Token], index: usize) -> bool {
    let is = |back: usize| {
        let token = index.checked_sub(back).map(|index| &tokens[index]);
        token.is_some_and(|token| matches!(token.text.as_str(), "function" | "coproc"))
    };
    is(1) || is(2)
}

fn close(open: &mut Vec<&str>, closer: &str) {
    let fits = |opener: &str| match closer {
        "}" => opener == "{",
        "fi" => opener == "if",
        "esac" => opener == "case",
        "done" => matches!(opener, "for" | "while" | "until" | "select"),
        "]]" => opener == "[[",
        _ => false,
    };
    // A coprocess ends with the command that it runs.
    let last = open.iter().rposition(|opener| *opener != "coproc");
    if let Some(last) = last
        && fits(open[last])
    {
        open.truncate(last);
    }
}

/// The parser stops with a panic at a redirection of a number that is too large.
fn digits_before_redirection(tokens: &[Token], index: usize) -> bool {
    let token = &tokens[index];
    let redirects = |next: &Token| next.operator && next.start == token.end && next.text.contains(['<', '>']);
    token.text.len() > 4
        && token.text.bytes().all(|byte| byte.is_ascii_digit())
        && tokens.get(index + 1).is_some_and(redirects)
}
