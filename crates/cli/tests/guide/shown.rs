//! What is printed, compared with what a page says.

use std::collections::BTreeMap;

use super::page::Call;

/// What stands for any text.
const ANY: &str = "…";

/// The names that a page uses, and those that were made up in their place.
#[derive(Debug, Default)]
pub(crate) struct Names(BTreeMap<String, String>);

impl Names {
    /// Puts names that were made up in place of those that the page uses.
    pub(crate) fn put_into(&self, command: &str) -> String {
        self.0.iter().fold(command.to_owned(), |text, (name, made)| text.replace(name, made))
    }

    /// Compares, and takes down names; returns the line of the page that was not printed.
    pub(crate) fn compare(&mut self, call: &Call, printed: &str) -> Result<(), (usize, String)> {
        let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
        let wanted: Vec<(usize, &str)> =
            call.prints.iter().map(|(line, text)| (*line, text.trim_end())).collect();
        let pairs = matched(&wanted, &printed).map_err(|at| match wanted.get(at) {
            Some((line, text)) => (*line, (*text).to_owned()),
            None => (call.line, "nothing more".to_owned()),
        })?;
        for (wanted, printed) in pairs {
            self.learn(wanted, printed);
        }
        Ok(())
    }

    fn learn(&mut self, wanted: &str, printed: &str) {
        let before = wanted.split(ANY).next().unwrap_or_default();
        let names = |text: &str| -> Vec<String> {
            words(text).filter(|word| kind(word) == Some("[NAME]")).map(str::to_owned).collect()
        };
        self.0.extend(names(before).into_iter().zip(names(printed)));
    }
}

/// Pairs lines of the page with printed ones; returns the first line of the page for which there is none.
fn matched<'a>(wanted: &[(usize, &'a str)], printed: &[&'a str]) -> Result<Vec<(&'a str, &'a str)>, usize> {
    let mut pairs = Vec::new();
    let mut at = 0;
    let mut is_open = false;
    for (index, (_, text)) in wanted.iter().enumerate() {
        if *text == ANY {
            is_open = true;
            continue;
        }
        let left = printed.get(at..).unwrap_or_default();
        let most = if is_open { left.len() } else { left.len().min(1) };
        let found = left[..most].iter().position(|line| is_like(text, line)).ok_or(index)?;
        pairs.push((*text, left[found]));
        at += found + 1;
        is_open = false;
    }
    if at < printed.len() && !is_open { Err(wanted.len()) } else { Ok(pairs) }
}

/// Tells whether a printed line is what the page says, but for what changes from run to run.
fn is_like(wanted: &str, printed: &str) -> bool {
    let printed = plain(printed);
    let mut parts = wanted.split(ANY).map(plain);
    let Some(mut rest) = parts.next().and_then(|first| printed.strip_prefix(&first).map(str::to_owned))
    else {
        return false;
    };
    let parts: Vec<String> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part.as_str()) {
            Some(found) => rest = rest[found + part.len()..].to_owned(),
            None => return false,
        }
    }
    rest.ends_with(last.as_str())
}

/// Takes out what changes from run to run.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    for word in words(text) {
        let (before, after) = rest.split_once(word).unwrap_or((rest, ""));
        plain.push_str(before);
        plain.push_str(kind(word).unwrap_or(word));
        rest = after;
    }
    plain + rest
}

/// Returns the words of a text; a time or a day is one.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == ':' || c == '-';
    let words = text.split(move |c: char| !is_part(c));
    words.map(|word| word.trim_matches([':', '-'])).filter(|word| !word.is_empty())
}

/// Says what a word is, if it changes from run to run: a time, a day, or a name that was made up.
fn kind(word: &str) -> Option<&'static str> {
    let digits = |form: &str| {
        word.len() == form.len()
            && word.bytes().zip(form.bytes()).all(|(byte, form)| match form {
                b'0' => byte.is_ascii_digit(),
                other => byte == other,
            })
    };
    let is_made_up = |length: usize| {
        word.len() == length && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    if digits("00:00:00") || digits("00:00") || digits("0000-00-00T00:00:00Z") {
        Some("[TIME]")
    } else if digits("0000-00-00") {
        Some("[DAY]")
    } else if is_made_up(10) || is_made_up(40) {
        Some("[NAME]")
    } else {
        None
    }
}

#[test]
fn what_changes_from_run_to_run_is_let_pass_and_the_rest_is_not() {
    for (wanted, printed, is_same) in [
        ("run x6sj3fef9r begins", "run d0w70r8w0n begins", true),
        ("run x6sj3fef9r begins", "run d0w70r8w0n ends", false),
        ("12:00:01  coding 1/1", "18:24:58  coding 1/1", true),
        ("12:00:01  coding 1/1", "18:24:58  coding 1/2", false),
        ("at 2026-11-16T18:24:58Z.", "at 2027-01-01T00:00:00Z.", true),
        ("at 2026-11-16 18:24 UTC.", "at 2027-01-01 00:00 UTC.", true),
        ("since 2026-11-16", "since 2027-01-01", true),
        ("a … b … c", "a 1 b 2 c", true),
        ("a … b … c", "a 1 2 c", false),
        ("…", "anything", true),
        ("", "x", false),
    ] {
        assert_eq!(is_like(wanted, printed), is_same, "{wanted} and {printed}");
    }
}

#[test]
fn a_line_of_its_own_stands_for_any_lines_and_what_is_missing_is_named() {
    let is = |wanted: &[&'static str], printed: &[&'static str]| {
        let wanted: Vec<(usize, &str)> = wanted.iter().copied().enumerate().collect();
        matched(&wanted, printed).map(|pairs| pairs.len())
    };
    assert_eq!(is(&["a", ANY, "c"], &["a", "b", "b", "c"]), Ok(2));
    assert_eq!(is(&["a", ANY], &["a"]), Ok(1));
    assert_eq!(is(&["a", "c"], &["a", "b", "c"]), Err(1));
    assert_eq!(is(&["a"], &["a", "b"]), Err(1));
    assert_eq!(is(&["a", ANY, "d"], &["a", "b"]), Err(2));
}

#[test]
fn a_name_in_a_command_is_the_one_that_was_printed() {
    let mut names = Names::default();
    let call = Call { prints: vec![(1, "waits for k3f9x2m1qa.17 …".to_owned())], ..Call::default() };
    names.compare(&call, "waits for 0123456789.17 now\n").unwrap();
    assert_eq!(names.put_into("warp answer k3f9x2m1qa.17 yes"), "warp answer 0123456789.17 yes");
}
