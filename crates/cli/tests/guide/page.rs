//! The commands of a page, and what it says that they print.

/// A command and what it prints.
#[derive(Debug, Default)]
pub(crate) struct Call {
    /// Its line in the page, from 1.
    pub(crate) line: usize,
    pub(crate) command: String,
    /// What is printed, with the line of each in the page.
    pub(crate) prints: Vec<(usize, String)>,
}

/// Returns the commands of a page's `console` blocks.
pub(crate) fn calls(page: &str) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    let mut is_console = false;
    for (line, text) in page.lines().enumerate().map(|(index, text)| (index + 1, text)) {
        if let Some(language) = text.strip_prefix("```") {
            is_console = language == "console";
        } else if !is_console {
            continue;
        } else if let Some(command) = text.strip_prefix("$ ") {
            calls.push(Call { line, command: command.to_owned(), prints: Vec::new() });
        } else {
            let call = calls.last_mut().unwrap_or_else(|| panic!("docs/guide.md:{line}: before any command"));
            match text.strip_prefix("> ").filter(|_| call.prints.is_empty()) {
                Some(more) => call.command.push_str(&format!("\n{more}")),
                None => call.prints.push((line, text.to_owned())),
            }
        }
    }
    calls
}

#[test]
fn only_console_blocks_are_read_and_each_line_is_known_by_its_place() {
    let page = "```text\n$ rm\n```\n\n```console\n$ one\n> two\nout\n\n$ three\n```\n$ four\n";
    let calls = calls(page);
    let read: Vec<_> = calls.iter().map(|call| (call.line, call.command.as_str())).collect();
    assert_eq!(read, [(6, "one\ntwo"), (10, "three")]);
    assert_eq!(calls[0].prints, [(8, "out".to_owned()), (9, String::new())]);
}
