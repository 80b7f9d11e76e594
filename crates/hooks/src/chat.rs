//! What a person says to their agent in plain words, as far as it is meant for the run: an answer to the open decision,
//! that the run stops, that they leave.
//!
//! Most of what is typed is meant for the agent alone. So words count only where they say nothing else: an answer begins
//! with its option, a stop is the whole message, and somebody who leaves says so of themselves or asks for the work to go on.

use engine::view::Asked;
use project::{OTHER, read_reply};

/// Messages that are longer are instructions to the agent, whatever words they begin with.
const LONGEST: usize = 400;

/// Words before an answer that add nothing to it.
const LEAD_IN: &[&str] = &[
    "yes",
    "yeah",
    "yep",
    "ok",
    "okay",
    "sure",
    "alright",
    "please",
    "no",
    "let's",
    "lets",
    "i'd",
    "i would",
    "we",
    "just",
    "use",
    "take",
    "pick",
    "choose",
    "go with",
    "go for",
    "do",
    "answer",
    "my answer is",
    "option",
];
/// Words that agree, and the options that they can stand for.
const AGREES: &[&str] = &[
    "yes",
    "yeah",
    "yep",
    "yup",
    "ok",
    "okay",
    "sure",
    "go ahead",
    "go on",
    "carry on",
    "continue",
    "keep going",
    "proceed",
    "please continue",
    "please do",
    "do it",
    "sounds good",
    "looks good",
    "lgtm",
];
const AGREED: &[&str] = &["yes", "continue", "approve", "accept"];
/// Words that disagree, and the options that they can stand for.
const DISAGREES: &[&str] =
    &["no", "nope", "nah", "no thanks", "not now", "don't", "do not", "enough", "that's all"];
const DISAGREED: &[&str] = &["no", "reject"];

/// Messages that stop the run.
const STOPS: &[&str] = &[
    "stop",
    "stop it",
    "stop here",
    "stop there",
    "stop the run",
    "stop this run",
    "stop warp",
    "stop warp drive",
    "stop warp-drive",
    "stop the loop",
    "stop working",
    "halt",
    "abort",
    "abort the run",
    "cancel the run",
    "end the run",
];

/// Words that say that somebody leaves.
const LEAVES: &[&str] = &[
    "going afk",
    "i'm afk",
    "i am afk",
    "away from keyboard",
    "away from the keyboard",
    "stepping away",
    "step away",
    "stepping out",
    "heading out",
    "signing off",
    "logging off",
    "going to bed",
    "off to bed",
];
/// Words that may say so: of themselves, or with the wish that the work goes on.
const MAY_LEAVE: &[&str] = &[
    "grab lunch",
    "grab a coffee",
    "grab some lunch",
    "grab some food",
    "grab dinner",
    "grab a bite",
    "get lunch",
    "get some lunch",
    "get coffee",
    "get a coffee",
    "have lunch",
    "go to lunch",
    "out for lunch",
    "off to lunch",
    "going to lunch",
    "lunch break",
    "brb",
    "be right back",
    "be back",
    "back in",
    "go out",
    "going out",
    "go home",
    "going home",
    "head home",
    "heading home",
    "a meeting",
    "have to leave",
    "need to leave",
    "have to go",
    "need to go",
    "gotta go",
    "got to go",
    "leaving now",
    "for a walk",
    "away for",
];
const OF_THEMSELVES: &[&str] =
    &["i'm", "i am", "i'll", "i will", "i have to", "i need to", "gonna", "gotta", "brb", "let me"];
const GO_ON: &[&str] = &[
    "keep going",
    "keep on going",
    "keep working",
    "keep at it",
    "carry on",
    "continue without me",
    "go on without me",
    "don't wait",
    "do not wait",
    "without me",
    "on your own",
    "while i'm",
];

/// What may stand between an answer and what is said besides.
const PUNCTUATION: &[char] = &[',', '.', ':', ';', '-', '!', ' '];

/// Meaning of a chat message for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MessageMeaning {
    Answer { option: String, note: Option<String> },
    Stop,
}

/// Whether a message announces that the person leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Departure {
    No,
    /// It does if there is work that goes on without them.
    FromWork,
    Surely,
}

/// Reads what a message means to a run; `asked` is its open decision, and `in_phase` whether the phase itself asks it.
pub(crate) fn heard(message: &str, asked: Option<&Asked>, in_phase: bool) -> Option<MessageMeaning> {
    let text = plain(message);
    if text.chars().count() > LONGEST || text.ends_with('?') {
        return None;
    }
    let stops = STOPS.contains(&bare(&text.to_lowercase()));
    if let Some(asked) = asked
        && let Some((option, note)) = answer(&text, &asked.options, stops && in_phase)
        && !(stops && option == OTHER)
    {
        return Some(MessageMeaning::Answer { option, note });
    }
    stops.then_some(MessageMeaning::Stop)
}

/// Reads whether a message says that its person leaves.
pub(crate) fn leaves(message: &str) -> Departure {
    let text = plain(message);
    let has = |words: &[&str]| words.iter().any(|words| has_words(&text, words));
    if text.chars().count() > LONGEST {
        Departure::No
    } else if has(LEAVES) {
        Departure::Surely
    } else if has(MAY_LEAVE) && (has(OF_THEMSELVES) || has(GO_ON)) {
        Departure::FromWork
    } else {
        Departure::No
    }
}

/// Finds the option that a message chooses, and what it says besides.
fn answer(text: &str, options: &[String], declines: bool) -> Option<(String, Option<String>)> {
    let plain: Vec<&String> = options.iter().filter(|option| *option != OTHER).collect();
    // An option like `keep_local` is typed as words.
    let typed: Vec<String> = plain.iter().map(|option| option.replace(['_', '-'], " ")).collect();
    let read = |text: &str| {
        let (option, note) = read_reply(&text.replace(['_', '-'], " "), &typed)?;
        let index = typed.iter().position(|known| *known == option)?;
        let note = note.map(|note| note.trim_start_matches(PUNCTUATION).to_owned());
        Some((plain[index].clone(), note.filter(|note| !note.is_empty())))
    };
    let mut rest = text;
    loop {
        if let Some(found) = read(rest) {
            return Some(found);
        }
        match LEAD_IN.iter().find_map(|lead| after(rest, lead)) {
            Some(shorter) if !shorter.is_empty() => rest = shorter,
            Some(_) | None => break,
        }
    }
    let one_of = |known: &[&str]| {
        let mut found = plain.iter().filter(|option| known.contains(&option.as_str()));
        let first = found.next()?;
        found.next().is_none().then(|| (*first).clone())
    };
    let said = |words: &[&str]| words.iter().find_map(|words| after(text, words));
    let note = |rest: &str| (!rest.is_empty()).then(|| rest.to_owned());
    if let Some(rest) = said(AGREES)
        && let Some(option) = one_of(AGREED)
    {
        return Some((option, note(rest)));
    }
    let no = said(DISAGREES).or(declines.then_some(""));
    if let Some(rest) = no
        && let Some(option) = one_of(DISAGREED)
    {
        return Some((option, note(rest)));
    }
    let takes_words = options.iter().any(|option| option == OTHER) && !text.is_empty();
    takes_words.then(|| (OTHER.to_owned(), Some(text.to_owned())))
}

/// Returns what follows words at the beginning of a text.
fn after<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    let head = text.get(..words.len())?;
    let rest = &text[words.len()..];
    let ends = !rest.starts_with(|letter: char| letter.is_alphanumeric() || letter == '\'');
    let rest = rest.trim_start_matches(PUNCTUATION);
    (head.eq_ignore_ascii_case(words) && ends).then_some(rest)
}

/// Tells whether words are in a text, whole.
fn has_words(text: &str, words: &str) -> bool {
    let text = text.to_lowercase();
    text.match_indices(words).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let behind = text[at + words.len()..].chars().next();
        let is_inside = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
        !is_inside(before) && !is_inside(behind)
    })
}

/// Returns a message with one kind of apostrophe.
fn plain(message: &str) -> String {
    message.trim().replace('\u{2019}', "'")
}

/// Returns a short message without the words that are only polite.
fn bare(text: &str) -> &str {
    let ends: &[char] = &['.', '!', ',', ' '];
    let mut text = text.trim_matches(ends);
    for polite in ["please", "ok", "okay", "now"] {
        text = text.strip_prefix(polite).map_or(text, |rest| rest.trim_start_matches(ends));
        text = text.strip_suffix(polite).map_or(text, |rest| rest.trim_end_matches(ends));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(options: &[&str]) -> Asked {
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        Asked { id: "run.1".to_owned(), question: "Which?".to_owned(), options, deadline: None }
    }

    fn chosen(message: &str, options: &[&str]) -> Option<String> {
        match heard(message, Some(&asked(options)), false)? {
            MessageMeaning::Answer { option, note: None } => Some(option),
            MessageMeaning::Answer { option, note: Some(note) } => Some(format!("{option}: {note}")),
            MessageMeaning::Stop => Some("STOP".to_owned()),
        }
    }

    #[test]
    fn an_answer_begins_with_its_option_or_agrees() {
        let yes_no = ["yes", "no"];
        let goes_on = ["continue", "abort"];
        for (message, options, option) in [
            ("yes, continue", &yes_no[..], Some("yes: continue")),
            ("Yes!", &yes_no, Some("yes")),
            ("continue", &yes_no, Some("yes")),
            ("sure, go on", &yes_no, Some("yes: go on")),
            ("No thanks", &yes_no, Some("no: thanks")),
            ("nope", &yes_no, Some("no")),
            ("yes, continue", &goes_on, Some("continue")),
            ("yes", &goes_on, Some("continue")),
            ("please abort", &goes_on, Some("abort")),
            ("2", &["sqlite", "postgres"], Some("postgres")),
            (
                "let's go with Postgres, it is there already",
                &["sqlite", "postgres"],
                Some("postgres: it is there already"),
            ),
            ("keep it local", &["push", "keep_local"], None),
            ("keep local please", &["push", "keep_local"], Some("keep_local: please")),
            ("looks good", &["approve", "reject", "stop"], Some("approve")),
            ("no, it is too large", &["approve", "reject", "stop"], Some("reject: it is too large")),
            ("yes", &["accept", "continue", "stop"], None),
            ("the blue one", &["red", "other"], Some("other: the blue one")),
            ("stop", &["red", "other"], Some("STOP")),
            ("what would that change?", &["red", "other"], None),
            ("show me the diff first", &yes_no, None),
            ("nobody uses that file", &yes_no, None),
        ] {
            assert_eq!(chosen(message, options).as_deref(), option, "{message}");
        }
    }

    #[test]
    fn a_stop_is_the_whole_message() {
        for message in ["stop", "Stop.", "please stop", "stop the run, please", "ok stop now", "abort"] {
            assert_eq!(heard(message, None, false), Some(MessageMeaning::Stop), "{message}");
        }
        for message in ["stop using unwrap", "don't stop", "stop?", "add a stop button", "yes, continue", ""]
        {
            assert_eq!(heard(message, None, false), None, "{message}");
        }
        let no = Some(MessageMeaning::Answer { option: "no".to_owned(), note: None });
        assert_eq!(heard("stop", Some(&asked(&["yes", "no"])), true), no);
    }

    #[test]
    fn somebody_who_leaves_says_so_of_themselves_or_wants_the_work_to_go_on() {
        for message in
            ["ok, I'm going AFK now", "I\u{2019}m afk for a bit", "stepping away from the keyboard"]
        {
            assert_eq!(leaves(message), Departure::Surely, "{message}");
        }
        for message in [
            "grab lunch, keep going",
            "I'm going to grab lunch",
            "have to leave, carry on without me",
            "brb",
            "I'll be back in an hour",
            "gotta go, don't wait for me",
        ] {
            assert_eq!(leaves(message), Departure::FromWork, "{message}");
        }
        for message in [
            "keep going",
            "grab lunch orders from the API",
            "the afk mode",
            "put the button back in place",
            "i'm not sure about that",
        ] {
            assert_eq!(leaves(message), Departure::No, "{message}");
        }
    }
}
