//! Reading the corpus: what moves or destroys, and the ways to run it.

pub(crate) const PRIMITIVES: &str = include_str!("primitives.txt");
pub(crate) const WRAPPERS: &str = include_str!("wrappers.txt");
pub(crate) const CARRIERS: &str = include_str!("carriers.txt");
pub(crate) const EVERYDAY: &str = include_str!("../everyday.txt");
pub(crate) const HARMLESS: &str = include_str!("../harmless.txt");

/// Returns the lines of a corpus that are not comments: what stands before the tab, and the text after it.
pub(crate) fn named(corpus: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = corpus.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split_once('\t').expect("every line of a corpus has a tab"))
}

/// Reads `\n` as a new line and `\\\\` as a backslash; other backslashes stand for themselves.
pub(crate) fn unescaped(text: &str) -> String {
    text.replace("\\\\", "\u{f}").replace("\\n", "\n").replace('\u{f}', "\\")
}

/// Puts a command into a wrapper; `None` if the wrapper is only for git and the command is not.
pub(crate) fn wrapped(wrapper: &str, command: &str) -> Option<String> {
    let (first, rest) = command.split_once(' ')?;
    if wrapper.contains("git") && first != "git" {
        return None;
    }
    let json = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let list: Vec<String> = command.split(' ').map(json).collect();
    let octal: String = first.bytes().map(|byte| format!("\\{byte:03o}")).collect();
    let (left, right) = first.split_at(1);
    let text = unescaped(wrapper)
        .replace("{q}", &format!("'{command}'"))
        .replace("{json}", &json(command))
        .replace("{list}", &format!("[{}]", list.join(", ")))
        .replace("{b64}", &base64(command))
        .replace("{octal}", &format!("$'{octal}' {rest}"))
        .replace("{split}", &format!("{left}''{right} {rest}"))
        .replace("{first}", first)
        .replace("{rest}", rest)
        .replace("{}", command);
    Some(text)
}

/// Puts a command into a carrier. What a carrier's script runs is not in the text.
pub(crate) fn carried(carrier: &str, command: &str) -> String {
    let rest = command.split_once(' ').map_or("", |(_, rest)| rest);
    unescaped(carrier).replace("{q}", &format!("'{command}'")).replace("{rest}", rest).replace("{}", command)
}

fn base64(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for index in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * index) & 63) as usize];
            encoded.push(if index <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    encoded
}
