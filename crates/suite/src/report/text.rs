//! Small readers of lines that several runners share.

/// The longest name of a test that is kept, in characters.
const LONGEST_NAME: usize = 200;

/// Returns a text without terminal escapes, with plain line ends. A line that is written over, as progress is, becomes two.
pub(super) fn plain(text: &str) -> String {
    without_escapes(text).replace("\r\n", "\n").replace('\r', "\n")
}

/// Returns a text without the escapes that colour it at a terminal.
pub(crate) fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        if letter != '\u{1b}' {
            plain.push(letter);
            continue;
        }
        match rest.next() {
            // A control sequence: parameters, then one letter.
            Some('[') => while rest.next().is_some_and(|c| !('\u{40}'..='\u{7e}').contains(&c)) {},
            // A title or link: up to a bell or `ESC \`.
            Some(']') => loop {
                match rest.next() {
                    None | Some('\u{7}') => break,
                    Some('\u{1b}') => {
                        rest.next();
                        break;
                    }
                    Some(_) => {}
                }
            },
            Some(_) | None => {}
        }
    }
    plain
}

/// Cuts a name that is too long. What is left stays the same from run to run.
pub(super) fn shortened(name: String) -> String {
    match name.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => name[..end].trim_end().to_owned(),
        None => name,
    }
}

/// Returns the number that stands before one of `words` in a line.
pub(super) fn before(line: &str, words: &[&str]) -> u64 {
    let parts: Vec<&str> =
        line.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).collect();
    let number = |pair: &[&str]| words.contains(&pair[1]).then(|| pair[0].parse::<u64>().ok()).flatten();
    parts.windows(2).filter_map(number).fold(0, u64::saturating_add)
}

/// Returns the number that follows `sign` in a line.
pub(super) fn after(line: &str, sign: &str) -> u64 {
    let rest = line.split_once(sign).map(|(_, rest)| rest.trim_start()).unwrap_or_default();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

/// Tells whether a line begins with a number and this word: `3 passing (5ms)`.
pub(super) fn counts(line: &str, word: &str) -> bool {
    let mut words = line.split([' ', ',']);
    words.next().is_some_and(|number| number.parse::<u64>().is_ok()) && words.next() == Some(word)
}

/// Returns how far a line is indented.
pub(super) fn indent(line: &str) -> usize {
    line.chars().take_while(|c| *c == ' ' || *c == '\t').count()
}

/// Returns a name without the time behind it: ` (5 ms)`, ` (0.45ms)`, ` 3ms`, ` [5 ms]`.
pub(super) fn without_time(name: &str) -> &str {
    let name = name.trim_end();
    let is_time = |text: &str| {
        let number =
            text.trim_start_matches("< ").trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
        let unit = text
            [text.len() - (text.len() - text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len())..]
            .trim();
        number.parse::<f64>().is_ok() && ["ms", "s", "m", "us", "ns"].contains(&unit)
    };
    for (open, close) in [(" (", ')'), (" [", ']')] {
        if let Some((head, tail)) = name.rsplit_once(open)
            && tail.strip_suffix(close).is_some_and(is_time)
        {
            return head.trim_end();
        }
    }
    match name.rsplit_once(' ') {
        Some((head, tail)) if tail.starts_with(|c: char| c.is_ascii_digit()) && is_time(tail) => {
            head.trim_end()
        }
        _ => name,
    }
}

/// Names a nested test.
pub(super) fn path<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" > ")
}
