//! Commands in the docs, against what the program says of itself.
//!
//! Pure: the texts of `--help` are asked for by a function. It is read as most programs write it: a list of commands under
//! a heading that ends in "commands:", flags anywhere. Whatever cannot be told is taken to be right.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use super::page::CodeLine;

/// What every program understands.
const ALWAYS: [&str; 4] = ["--help", "-h", "--version", "-V"];
/// How like a word another must be to be named beside it.
const CLOSE: f64 = 0.8;

/// Commands and flags of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Help {
    /// Its subcommands.
    pub commands: BTreeSet<String>,
    /// Its flags, and whether each takes a value.
    pub flags: BTreeMap<String, bool>,
}

/// Answer to `--help`.
#[derive(Clone, Debug)]
pub(super) enum HelpAnswer {
    Help(Rc<Help>),
    /// There is no such command.
    No,
    /// It did not come to an answer.
    Nothing,
}

/// A word that the program does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unknown {
    pub(super) is_flag: bool,
    pub(super) word: String,
    /// The commands before it, with the program's name.
    pub(super) under: String,
    /// The word that the program knows and that is most like it.
    pub(super) nearest: Option<String>,
}

impl Help {
    /// Parses a help text.
    pub fn read(text: &str) -> Self {
        let mut help = Self::default();
        let mut in_commands = false;
        for line in text.lines() {
            let is_indented = line.starts_with([' ', '\t']);
            if !is_indented && !line.trim().is_empty() {
                in_commands = line.trim_end().to_lowercase().ends_with("commands:");
            } else if in_commands && is_indented {
                help.add_command(line);
            }
            help.add_flags(line);
        }
        help
    }

    /// Adds the command that a line begins with. A line that is indented further goes on about the one before.
    fn add_command(&mut self, line: &str) {
        let indent = line.len() - line.trim_start().len();
        let word = line.split_whitespace().next().unwrap_or_default();
        if indent <= 4 {
            let words = word.split([',', '|']).filter(|word| is_command(word));
            self.commands.extend(words.map(str::to_owned));
        }
    }

    fn add_flags(&mut self, line: &str) {
        let is_entry = line.trim_start().starts_with('-');
        // In an entry the explanation is set off by two spaces.
        let entry = line.trim_start().split("  ").next().unwrap_or_default();
        let takes =
            is_entry && entry.split([' ', ',', '=']).any(|word| !word.is_empty() && !word.starts_with('-'));
        let separators = |c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_');
        for word in line.split(separators) {
            let name = word.trim_start_matches('-');
            let dashes = word.len() - name.len();
            let is_flag = dashes == 2 && name.len() > 1 || dashes == 1 && name.len() == 1;
            if is_flag && name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
                let takes_value = self.flags.entry(word.to_owned()).or_insert(false);
                *takes_value |= takes && entry.contains(word);
            }
        }
    }
}

/// Returns the command lines among the lines of code blocks, each with its place. A line that ends in a backslash goes on.
pub(super) fn command_lines(lines: &[CodeLine]) -> Vec<(usize, String)> {
    let prompted: BTreeSet<usize> =
        lines.iter().filter(|line| prompt(&line.text).is_some()).map(|line| line.block).collect();
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut goes_on = None;
    for line in lines {
        let text = match goes_on {
            Some(block) if block == line.block => Some(line.text.trim_start()),
            Some(_) | None => {
                goes_on = None;
                let plain =
                    (!line.needs_prompt && !prompted.contains(&line.block)).then_some(line.text.as_str());
                prompt(&line.text).or(plain)
            }
        };
        let Some(text) = text else { continue };
        let (text, more) = match text.strip_suffix('\\') {
            Some(text) => (text, true),
            None => (text, false),
        };
        match found.last_mut().filter(|_| goes_on.is_some()) {
            Some((_, before)) => before.push_str(text),
            None => found.push((line.at, text.to_owned())),
        }
        goes_on = more.then_some(line.block);
    }
    found
}

fn prompt(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("$ ")
}

/// Returns the calls of a program in a command line, each as its arguments.
pub(super) fn calls(line: &str, program: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for command in commands(line) {
        let mut words = command.into_iter().skip_while(|word| is_assignment(word));
        if words.next().as_deref() == Some(program) {
            found.push(words.collect());
        }
    }
    found
}

/// Splits a line as a shell does: into commands, and those into words. A comment ends it.
fn commands(line: &str) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut word = String::new();
    let mut quote = None;
    let mut is_quoted = false;
    for c in line.chars().chain([' ']) {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.push(c),
            (None, '"' | '\'') => (quote, is_quoted) = (Some(c), true),
            (None, c) if c.is_whitespace() => {
                if word.starts_with('#') && !is_quoted {
                    break;
                }
                let ends = !is_quoted && (is_operator(&word) || word.ends_with(';'));
                let kept = word.trim_end_matches(';');
                let current = all.last_mut().expect("there is always a last command");
                if is_quoted || (!kept.is_empty() && !is_operator(&word)) {
                    // A value in quotes is never a command or a flag.
                    current.push(if is_quoted { format!("\"{word}") } else { kept.to_owned() });
                }
                if ends {
                    all.push(Vec::new());
                }
                (word, is_quoted) = (String::new(), false);
            }
            (None, c) => word.push(c),
        }
    }
    all
}

fn is_operator(word: &str) -> bool {
    ["|", "||", "&&", "&", ";", ">", ">>", "<", "2>", "->", "=>"].contains(&word)
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    })
}

fn is_command(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_')
}

/// Checks the arguments of a call; `ask` asks for the help of the commands that it is given.
pub(super) fn check(
    program: &str,
    arguments: &[String],
    ask: &mut dyn FnMut(&[String]) -> HelpAnswer,
) -> Vec<Unknown> {
    let mut unknown = Vec::new();
    let mut path: Vec<String> = Vec::new();
    let HelpAnswer::Help(mut help) = ask(&path) else { return unknown };
    let mut flags: BTreeSet<String> = help.flags.keys().cloned().collect();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let word = bare(argument);
        if word == "--" {
            break;
        }
        if word.starts_with('-') && word.len() > 1 {
            for flag in word.split('|').map(bare).filter_map(flag_in) {
                if !flags.contains(&flag) && !ALWAYS.contains(&flag.as_str()) {
                    let nearest = nearest(&flag, flags.iter());
                    unknown.push(Unknown {
                        is_flag: true,
                        word: flag,
                        under: under(program, &path),
                        nearest,
                    });
                }
            }
            let takes_value = flag_in(word).and_then(|flag| help.flags.get(&flag)).copied();
            if takes_value == Some(true) && !word.contains('=') && word == argument {
                arguments.next();
            }
            continue;
        }
        if help.commands.is_empty() {
            continue;
        }
        // A place that something is to be put into may be any command: its flags are not known.
        let words: Vec<&str> = word.split('|').collect();
        if !words.iter().all(|word| is_command(word)) {
            break;
        }
        if word == "help" {
            continue;
        }
        let mut found = None;
        for word in words {
            let mut deeper = path.clone();
            deeper.push(word.to_owned());
            // One that is not listed may be hidden: then it has a help all the same.
            match ask(&deeper) {
                HelpAnswer::Help(help) => found = found.or(Some((deeper, help))),
                HelpAnswer::Nothing => {}
                HelpAnswer::No if help.commands.contains(word) => {}
                HelpAnswer::No => unknown.push(Unknown {
                    is_flag: false,
                    word: word.to_owned(),
                    under: under(program, &path),
                    nearest: nearest(word, help.commands.iter()),
                }),
            }
        }
        let Some((deeper, next)) = found else { break };
        (path, help) = (deeper, next);
        flags.extend(help.flags.keys().cloned());
    }
    unknown
}

/// Returns a word of a usage line without the signs that say how it is used.
fn bare(word: &str) -> &str {
    word.trim_matches(['[', ']', '(', ')', '…', ',']).trim_end_matches("...").trim_end_matches(['.', ']'])
}

/// Returns the flag that a word begins with.
fn flag_in(word: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if let Some(name) = word.strip_prefix("--") {
        let end = name.find(|c| !is_plain(c)).unwrap_or(name.len());
        let is_flag = name.starts_with(|c: char| c.is_ascii_alphanumeric());
        return is_flag.then(|| format!("--{}", &name[..end]));
    }
    // Short flags may stand together, or have their value at once: only the first is sure to be one.
    let letter = word.strip_prefix('-')?.chars().next()?;
    letter.is_ascii_alphabetic().then(|| format!("-{letter}"))
}

fn under(program: &str, path: &[String]) -> String {
    [&[program.to_owned()], path].concat().join(" ")
}

fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a String>) -> Option<String> {
    let likeness = |known: &String| strsim::jaro_winkler(known, word);
    let is_long = |word: &str| word.starts_with("--");
    let known = known.filter(|known| is_long(known) == is_long(word));
    let best = known.max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(best) > CLOSE).then(|| best.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "Make tea\n\nUsage: tea [OPTIONS] <COMMAND>\n\nCommands:\n  brew   Brew it\n  \
        pour   Pour it, with --care\n\nOptions:\n  -C, --project <DIR>  Work there\n      --json           Print JSON\n";

    #[test]
    fn a_help_text_is_read() {
        let help = Help::read(HELP);
        assert_eq!(help.commands, ["brew", "pour"].map(str::to_owned).into());
        let flags = [("--care", false), ("--json", false), ("--project", true), ("-C", true)];
        assert_eq!(help.flags, flags.map(|(flag, takes)| (flag.to_owned(), takes)).into());
    }

    #[test]
    fn lines_are_split_as_a_shell_does() {
        let calls = |line: &str| calls(line, "tea").iter().map(|call| call.join(" ")).collect::<Vec<_>>();
        assert_eq!(calls("tea brew 2 # tea cold"), ["brew 2"]);
        assert_eq!(calls("A=1 tea brew && tea pour; tea drink | cat"), ["brew", "pour", "drink"]);
        assert_eq!(calls("tea brew 'two cups' --note \"--no flag\""), ["brew \"two cups --note \"--no flag"]);
        assert_eq!(calls("coffee brew"), Vec::<String>::new());
    }

    #[test]
    fn a_line_may_go_on() {
        let line = |text: &str| CodeLine { at: 0, text: text.to_owned(), block: 1, needs_prompt: false };
        let lines = [line("tea brew \\"), line("  --json"), line("tea pour")];
        let texts: Vec<String> = command_lines(&lines).into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["tea brew --json", "tea pour"]);
    }
}
