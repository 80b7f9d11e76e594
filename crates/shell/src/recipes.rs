//! Files of recipes: which commands of a `Makefile`, `justfile` or `package.json` a call would run.
//!
//! Other recipes in the same file say nothing about the call: a project that can be released can be tested.

use std::collections::BTreeSet;

use serde_json::Value;

use super::paths::base_name;

/// Files that builders and runners read without being told to.
const READ_UNASKED: [&str; 12] = [
    "Makefile",
    "makefile",
    "GNUmakefile",
    "justfile",
    "Justfile",
    "package.json",
    "Taskfile.yml",
    "Rakefile",
    "tox.ini",
    "noxfile.py",
    ".pre-commit-config.yaml",
    "lefthook.yml",
];

/// Whether a file is one that such programs read by themselves.
pub(super) fn is_read_unasked(path: &str) -> bool {
    READ_UNASKED.contains(&base_name(path))
}

/// Returns the part of a file of recipes that a call with these words may run.
pub(super) fn called(path: &str, text: &str, words: &[&str]) -> String {
    match base_name(path) {
        "package.json" => scripts(text, words),
        "Makefile" | "makefile" | "GNUmakefile" | "justfile" | "Justfile" => rules(text, words),
        _ => text.to_owned(),
    }
}

/// A rule: its targets, what they need, and its lines.
struct Rule<'t> {
    targets: Vec<&'t str>,
    needs: Vec<&'t str>,
    lines: Vec<&'t str>,
}

/// Returns what is outside of rules, and the rules that are asked for or needed.
fn rules(text: &str, words: &[&str]) -> String {
    let mut outside = Vec::new();
    let mut rules: Vec<Rule<'_>> = Vec::new();
    let mut in_rule = false;
    for line in text.lines() {
        if line.starts_with([' ', '\t']) && in_rule {
            if let Some(rule) = rules.last_mut() {
                rule.lines.push(line);
            }
            continue;
        }
        match head(line) {
            Some((targets, rest)) => {
                let (needs, recipe) =
                    rest.split_once(';').map_or((rest, None), |(needs, recipe)| (needs, Some(recipe)));
                rules.push(Rule {
                    targets: targets.split_whitespace().collect(),
                    needs: needs.split_whitespace().collect(),
                    lines: recipe.into_iter().collect(),
                });
                in_rule = true;
            }
            None if line.trim().is_empty() || line.starts_with('#') => {}
            None => {
                outside.push(line);
                in_rule = false;
            }
        }
    }
    // Names that are put together cannot be told apart.
    let is_plain =
        |rule: &Rule<'_>| rule.targets.iter().chain(&rule.needs).all(|name| !name.contains(['$', '%', '*']));
    if !rules.iter().all(is_plain) {
        return text.to_owned();
    }
    let names: BTreeSet<&str> = rules.iter().flat_map(|rule| rule.targets.iter().copied()).collect();
    let mut open: Vec<&str> = words.iter().copied().filter(|word| names.contains(word)).collect();
    let is_special = |name: &&str| name.starts_with('.');
    if open.is_empty() {
        open.extend(
            rules.iter().flat_map(|rule| rule.targets.iter().copied()).find(|name| !is_special(name)),
        );
    }
    let mut reached: BTreeSet<&str> = names.iter().copied().filter(is_special).collect();
    let mut called = outside.join("\n");
    let run = |rule: &Rule<'_>| rule.lines.iter().map(|line| format!("\n{line}")).collect::<String>();
    while let Some(name) = open.pop() {
        if !reached.insert(name) {
            continue;
        }
        for rule in rules.iter().filter(|rule| rule.targets.contains(&name)) {
            let lines = run(rule);
            open.extend(rule.needs.iter().copied());
            // A recipe may call for another by its name.
            open.extend(
                names.iter().copied().filter(|other| lines.split_whitespace().any(|word| word == *other)),
            );
            called.push_str(&lines);
        }
    }
    called
}

/// Returns targets and what follows their colon, if a line begins a rule.
fn head(line: &str) -> Option<(&str, &str)> {
    let (targets, rest) = line.split_once(':')?;
    let is_assignment = rest.starts_with('=') || rest.starts_with(":=") || targets.contains('=');
    let is_odd = targets.contains(['(', '"', '\'', '#']) || targets.trim().is_empty();
    (!is_assignment && !is_odd).then(|| (targets.trim_start_matches('@'), rest.trim_start_matches(':')))
}

/// Returns the scripts of a `package.json` that are asked for, with those before and after them.
fn scripts(text: &str, words: &[&str]) -> String {
    let Ok(package) = serde_json::from_str::<Value>(text) else { return text.to_owned() };
    let Some(scripts) = package.get("scripts").and_then(Value::as_object) else { return String::new() };
    let named = |word: &str| scripts.contains_key(word);
    let mut open: Vec<String> =
        words.iter().filter(|word| named(word)).map(|word| (*word).to_owned()).collect();
    // What is run at other times, as by `npm install`, is run by whatever is not asked for a script.
    if open.is_empty()
        || words.iter().any(|word| matches!(*word, "install" | "i" | "ci" | "publish" | "version" | "pack"))
    {
        open.extend(scripts.keys().cloned());
    }
    let mut reached = BTreeSet::new();
    let mut called = String::new();
    while let Some(name) = open.pop() {
        let Some(script) =
            scripts.get(&name).and_then(Value::as_str).filter(|_| reached.insert(name.clone()))
        else {
            continue;
        };
        called.push_str(script);
        called.push('\n');
        let mentioned = scripts
            .keys()
            .filter(|other| script.split([' ', ';', '&', ':']).any(|word| word == other.as_str()));
        open.extend(mentioned.cloned());
        open.extend([format!("pre{name}"), format!("post{name}")]);
    }
    called
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAKEFILE: &str = "VERSION := 1\n.PHONY: test release\n\ntest: build\n\tcargo test\n\nbuild:\n\tcargo build\n\nrelease: test\n\tgit push\n";

    #[test]
    fn only_the_recipes_that_are_asked_for_count() {
        let called = |words: &[&str]| rules(MAKEFILE, words);
        assert!(called(&["test"]).contains("cargo build") && !called(&["test"]).contains("git push"));
        assert!(!called(&[]).contains("git push"), "the first target is the one that is made");
        assert!(called(&["release"]).contains("git push"));
        assert!(called(&["build", "release"]).contains("git push"));
        assert!(rules("PUSH = git push\ntest:\n\t$(PUSH)\n", &["test"]).contains("git push"));
        assert!(rules("test: ; git push\n", &["test"]).contains("git push"));
        assert!(rules("test:\n\t$(MAKE) release\nrelease:\n\tgit push\n", &["test"]).contains("git push"));
        assert!(rules("%.x:\n\tgit push\ntest:\n\ttrue\n", &["test"]).contains("git push"));
    }

    #[test]
    fn only_the_scripts_that_are_asked_for_count() {
        let package =
            r#"{"scripts":{"test":"jest","release":"git push","posttest":"npm run lint","lint":"eslint ."}}"#;
        assert!(!scripts(package, &["test"]).contains("git push"));
        assert!(scripts(package, &["test"]).contains("eslint"));
        assert!(scripts(package, &["run", "release"]).contains("git push"));
        assert!(scripts(package, &["ci"]).contains("git push"));
        assert!(
            scripts(r#"{"scripts":{"test":"npm run x","x":"git push"}}"#, &["test"]).contains("git push")
        );
    }
}
