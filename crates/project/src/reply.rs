//! A reply in words: which option a person means, and what they say besides.

/// The option that stands for an answer in words.
pub const OTHER: &str = "other";
/// The longest note, in characters.
const LONGEST_NOTE: usize = 2000;

/// Reads a reply: an option, or its number from 1, and a note after it; any other words if the question takes them.
pub fn read_reply(text: &str, options: &[String]) -> Option<(String, Option<String>)> {
    let text = text.trim();
    let note = |rest: &str| {
        let rest = rest.trim_start_matches([',', '.', ':', ';', '-']).trim();
        (!rest.is_empty()).then(|| rest.chars().take(LONGEST_NOTE).collect())
    };
    let after = |option: &str| {
        let head = text.get(..option.len())?;
        let rest = &text[option.len()..];
        let ends = !rest.starts_with(|letter: char| letter.is_alphanumeric());
        (head.to_lowercase() == option.to_lowercase() && ends).then(|| note(rest))
    };
    let mut longest: Vec<&String> = options.iter().collect();
    longest.sort_by_key(|option| std::cmp::Reverse(option.len()));
    if let Some((option, note)) = longest.iter().find_map(|option| Some((*option, after(option)?))) {
        return Some((option.clone(), note));
    }
    let by_number = text.parse::<usize>().ok().and_then(|number| options.get(number.checked_sub(1)?));
    if let Some(option) = by_number {
        return Some((option.clone(), None));
    }
    let takes_words = options.iter().any(|option| option == OTHER) && !text.is_empty();
    takes_words.then(|| (OTHER.to_owned(), note(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_reply_is_an_option_or_its_number_and_a_note() {
        let options = options(&["yes", "yes, but small", "no", "skip"]);
        let read = |text: &str| read_reply(text, &options);
        let with = |option: &str, note: Option<&str>| Some((option.to_owned(), note.map(str::to_owned)));
        assert_eq!(read(" YES "), with("yes", None));
        assert_eq!(read("no: it is too large"), with("no", Some("it is too large")));
        assert_eq!(read("Yes, but small\nas before"), with("yes, but small", Some("as before")));
        assert_eq!(read("3"), with("no", None));
        assert_eq!(read("nobody knows"), None);
        assert_eq!(read("0"), None);
        assert_eq!(read(""), None);
        assert_eq!(read("é"), None);
    }

    #[test]
    fn other_words_are_an_answer_where_the_question_takes_them() {
        let options = options(&["red", "other"]);
        let other = |note: &str| Some(("other".to_owned(), Some(note.to_owned())));
        assert_eq!(read_reply("something blue", &options), other("something blue"));
        assert_eq!(read_reply("other: green", &options), other("green"));
        assert_eq!(read_reply("", &options), None);
    }
}
