//! Rules that no compiler checks.

use std::{borrow::Cow, fs, process::Command};

use crate::run::{Result, capture, root};

/// The most lines that a Rust file may have before it must be split.
const LONGEST: usize = 800;

/// Words that users stumble over, in what a person or a model reads. Each has a plain one: fix, sandbox, skip, continue or
/// resume, is no longer true, failed.
const FORBIDDEN: &[&str] = &[
    "mend",
    "mends",
    "mended",
    "mending",
    "walls",
    "walled",
    "put off",
    "puts off",
    "go on",
    "goes on",
    "going on",
    "gone on",
    "went on",
    "bear out",
    "bears out",
    "bearing out",
    "borne out",
    "outside world",
];

/// Where such a word is not warp's own, but what a person may say.
const QUOTED: &[(&str, &str)] = &[("crates/hooks/src/chat.rs", "go on")];

/// Where every file is read by people or models, whatever its kind.
const PAGES: &[&str] = &["docs/", "prompts/", "plugin/", "workflows/", "crates/cli/demo/"];

pub(crate) fn check() -> Result {
    let files = capture(
        Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard"])
            .current_dir(root()),
    )?;
    let mut faults = Vec::new();
    // A seed is what a parser is given, byte for byte.
    for file in files.lines().filter(|file| !file.starts_with("fuzz/seeds/")) {
        // Binary files and files that were removed but not yet committed are not looked at.
        let Ok(text) = fs::read_to_string(root().join(file)) else { continue };
        faults.extend(check_file(file, &text));
        faults.extend(check_words(file, &text));
    }
    if faults.is_empty() { Ok(()) } else { Err(format!("not tidy:\n{}", faults.join("\n"))) }
}

fn check_file(file: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if file.ends_with(".rs") {
        let lines = text.lines().count();
        if lines > LONGEST {
            faults.push(format!("{file}: {lines} lines; the most is {LONGEST}"));
        }
        let declares = file.ends_with("main.rs") || file.contains("/commands/") || file.contains("/tests/");
        if file.contains("/src/") && !text.starts_with("//!") && !declares {
            faults.push(format!("{file}: a module begins with `//!`, saying what it is for"));
        }
    }
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        // What programs have printed stays as it is.
        if line.ends_with([' ', '\t']) && !file.ends_with(".md") && !file.contains("/fixtures/") {
            faults.push(format!("{file}:{number}: ends with a space"));
        }
        let is_stub = line.trim_start().starts_with("#[ignore") || line.contains("todo!(");
        if is_stub && file.ends_with(".rs") && !file.starts_with("xtask/") {
            faults.push(format!("{file}:{number}: an ignored test or a stub"));
        }
    }
    if !text.is_empty() && !text.ends_with('\n') {
        faults.push(format!("{file}: the last line has no end"));
    }
    faults
}

/// Finds forbidden words in what a file shows to people and models: all of a page, a prompt, a workflow, the demo or another
/// text beside the code, and the string literals and help of code.
fn check_words(file: &str, text: &str) -> Vec<String> {
    let is_test =
        file.starts_with("crates/testkit/") || file.ends_with("tests.rs") || file.contains("/tests/");
    let is_page = file == "README.md" || PAGES.iter().any(|at| file.starts_with(at));
    // What other programs have printed is in samples.
    let is_source =
        file.starts_with("crates/") && file.contains("/src/") && !is_test && !file.contains("/samples/");
    let is_code = file.ends_with(".rs");
    let shown = match (is_page || is_source && !is_code, is_source && is_code) {
        (true, _) => vec![(1, Cow::Borrowed(text))],
        (false, true) => shown(text, file.starts_with("crates/cli/src/commands")),
        (false, false) => Vec::new(),
    };
    let mut faults = Vec::new();
    for (line, text) in shown {
        for (index, phrase) in said(&text) {
            if !QUOTED.contains(&(file, phrase)) {
                faults.push(format!("{file}:{}: users stumble over `{phrase}`", line + index));
            }
        }
    }
    faults
}

/// Returns the string literals of code up to its tests, and its doc comments if they are help; each with its line.
pub(crate) fn shown(code: &str, with_help: bool) -> Vec<(usize, Cow<'_, str>)> {
    let code = code.split("#[cfg(test)]\nmod ").next().unwrap_or(code);
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(rest) = code.get(at..).filter(|rest| !rest.is_empty()) {
        let (skipped, shown) = if rest.starts_with("//") {
            let end = rest.find('\n').unwrap_or(rest.len());
            let help = Some(&rest[..end]).filter(|comment| with_help && comment.starts_with("///"));
            (end, help.map(Cow::Borrowed))
        } else if rest.starts_with("r#\"") || rest.starts_with("r\"") {
            let hashes = rest[1..].chars().take_while(|next| *next == '#').count();
            let (begin, close) = (hashes + 2, format!("\"{}", "#".repeat(hashes)));
            let end = rest[begin..].find(&close).map_or(rest.len(), |end| begin + end);
            (end + close.len(), rest.get(begin..end).map(Cow::Borrowed))
        } else if let Some(body) = rest.strip_prefix('"') {
            let mut is_escaped = false;
            let is_end = |next: char| {
                let ends = next == '"' && !is_escaped;
                is_escaped = next == '\\' && !is_escaped;
                ends
            };
            let end = body.find(is_end).unwrap_or(body.len());
            (end + 2, body.get(..end).map(|literal| Cow::Owned(unescaped(literal))))
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\\"'") {
            (if rest.starts_with("'\"'") { 3 } else { 4 }, None)
        } else {
            (rest.chars().next().map_or(1, char::len_utf8), None)
        };
        found.extend(shown.map(|shown| (line, shown)));
        let end = (at + skipped).min(code.len());
        line += code[at..end].matches('\n').count();
        at = end;
    }
    found
}

/// Puts a space where a literal has an escape, whose letters are no part of a word. Line ends stay.
fn unescaped(literal: &str) -> String {
    let mut text = String::with_capacity(literal.len());
    let mut left = literal.chars();
    while let Some(next) = left.next() {
        if next != '\\' {
            text.push(next);
            continue;
        }
        match left.next() {
            Some('\n') => text.push('\n'),
            Some('u') => {
                left.by_ref().find(|next| *next == '}');
                text.push(' ');
            }
            Some('x') => {
                left.by_ref().nth(1);
                text.push(' ');
            }
            Some(_) | None => text.push(' '),
        }
    }
    text
}

/// Returns the forbidden phrases of a text, also those that are broken over lines; each with the lines before it.
fn said(text: &str) -> Vec<(usize, &'static str)> {
    let text = text.to_ascii_lowercase();
    let is_word = |next: char| next.is_alphanumeric() || next == '_';
    let mut found = Vec::new();
    for phrase in FORBIDDEN {
        let (first, second) =
            phrase.split_once(' ').map_or((*phrase, None), |(first, second)| (first, Some(second)));
        for (at, _) in text.match_indices(first) {
            let (before, after) = (&text[..at], &text[at + first.len()..]);
            let rest = match second {
                // A line of help begins with slashes, one of a workflow or a script with a number sign.
                Some(second) if after.starts_with(|next: char| !is_word(next)) => after
                    .trim_start_matches(|next: char| next.is_whitespace() || "/#".contains(next))
                    .strip_prefix(second),
                Some(_) => None,
                None => Some(after),
            };
            if rest.is_some_and(|rest| !rest.starts_with(is_word)) && !before.ends_with(is_word) {
                found.push((before.matches('\n').count(), *phrase));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planted_word_is_found_in_what_is_shown_and_nowhere_else() {
        let found = |file: &str, text: &str| check_words(file, text).len();
        assert_eq!(found("docs/run.md", "It goes\non. Behind Walls, amend it; mark_mended, go, on.\n"), 2);
        let code = "// It goes on.\nlet c = '\"'; let mend = \"\\\"mend\";\nr#\"a \"put\n off\" b\"#;\n/// It is mended.\n\
            \"go \\\n    on\"; \"\";\n#[cfg(test)]\nmod tests { \"mend\" }\n";
        let faults = check_words("crates/jobs/src/land.rs", code);
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert!(
            faults[0].starts_with("crates/jobs/src/land.rs:2: ") && faults[0].contains("`mend`"),
            "{faults:?}"
        );
        assert_eq!(found("crates/cli/src/commands/docs.rs", code), 4);
        assert_eq!(found("crates/cli/src/commands.rs", code), 4);
        assert_eq!(found("crates/jobs/tests/land.rs", code), 0);
        for file in ["workflows/coder.toml", "crates/cli/demo/issue.md", "crates/hooks/src/mcp.txt"] {
            assert_eq!(found(file, "# It went\n# on, \"and was borne out\"\n"), 2, "{file}");
        }
        assert_eq!(found("crates/mcp/tests/mcp.txt", "It went on.\n"), 0);
        for escaped in [r#""\nMend it""#, r#""\u{1b}mend""#, r#""\x1bmend""#, r#""\\mend \"walls\"""#] {
            assert!(found("crates/jobs/src/land.rs", escaped) >= 1, "{escaped}");
        }
        assert_eq!(found("crates/jobs/src/land.rs", r#""amend""#), 0);
        assert_eq!(found("crates/hooks/src/chat.rs", "[\"go on\", \"goes on\"]"), 1);
    }
}
