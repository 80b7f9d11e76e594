//! Rules that no compiler checks.

use std::{fs, process::Command};

use crate::run::{Result, capture, root};

/// The most lines that a Rust file may have before it must be split.
const LONGEST: usize = 800;

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
