//! The part of a branch's name that is made of a title.
//!
//! Invariants: lower case, only letters, digits and single dashes, never empty, and a valid part of a ref. Latin letters with
//! marks are written without them (`ö` as `oe`, `é` as `e`), because people type branch names; letters of other scripts
//! stay as they are, which git allows.

/// The longest slug, in characters. Four bytes each still fit into a file name.
const LONGEST: usize = 50;
/// The mark of an umlaut, where it is a character of its own.
const UMLAUT: char = '\u{308}';

/// Latin letters with marks, and how they are written without.
const PLAIN: &[(&str, &str)] = &[
    ("àáâãāăąǎ", "a"),
    ("ä", "ae"),
    ("å", "a"),
    ("æ", "ae"),
    ("çćĉċč", "c"),
    ("ďđð", "d"),
    ("èéêëēĕėęěẽ", "e"),
    ("ƒ", "f"),
    ("ĝğġģǧ", "g"),
    ("ĥħ", "h"),
    ("ìíîïĩīĭįıǐ", "i"),
    ("ĳ", "ij"),
    ("ĵ", "j"),
    ("ķ", "k"),
    ("ĺļľŀł", "l"),
    ("ñńņňŉ", "n"),
    ("òóôõōŏőøǒ", "o"),
    ("ö", "oe"),
    ("œ", "oe"),
    ("ŕŗř", "r"),
    ("śŝşšș", "s"),
    ("ß", "ss"),
    ("ţťŧț", "t"),
    ("þ", "th"),
    ("ùúûũūŭůűųǔ", "u"),
    ("ü", "ue"),
    ("ŵ", "w"),
    ("ýÿŷ", "y"),
    ("źżž", "z"),
];

/// Makes the last part of a branch's name of a title.
pub fn slug(title: &str) -> String {
    let mut slug = String::new();
    for letter in title.chars().flat_map(char::to_lowercase) {
        if slug.chars().count() >= LONGEST {
            break;
        }
        match letter {
            'a'..='z' | '0'..='9' => slug.push(letter),
            // A mark belongs to the letter before it.
            UMLAUT if slug.ends_with(['a', 'o', 'u']) => slug.push('e'),
            '\u{300}'..='\u{36f}' => {}
            _ => match PLAIN.iter().find(|(letters, _)| letters.contains(letter)) {
                Some((_, plain)) => slug.push_str(plain),
                None if letter.is_alphanumeric() => slug.push(letter),
                None if !slug.is_empty() && !slug.ends_with('-') => slug.push('-'),
                None => {}
            },
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "work".to_owned() } else { slug.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn a_title_becomes_a_plain_name() {
        assert_eq!(slug("Fix: the parser (again)!"), "fix-the-parser-again");
        assert_eq!(slug("  ..//@{Ümlaut}.lock "), "uemlaut-lock");
        assert_eq!(slug(""), "work");
        assert_eq!(slug("?!~^:*[\\ .. @{"), "work");
        let long = slug(&"long words ".repeat(20));
        assert!(long.len() <= 50 && !long.ends_with('-'), "{long}");
    }

    #[test]
    fn letters_with_marks_stay_readable() {
        assert_eq!(slug("Größe hinzufügen"), "groesse-hinzufuegen");
        assert_eq!(slug("GRÖSSE ÄNDERN"), "groesse-aendern");
        assert_eq!(slug("Gro\u{308}ße mit e\u{301}"), "groesse-mit-e");
        assert_eq!(slug("Crème brûlée à l'œil"), "creme-brulee-a-l-oeil");
        assert_eq!(slug("Zażółć gęślą jaźń"), "zazolc-gesla-jazn");
        assert_eq!(slug("İstanbul Ærø"), "istanbul-aero");
    }

    #[test]
    fn other_scripts_are_kept() {
        assert_eq!(slug("日本語 を 追加"), "日本語-を-追加");
        assert_eq!(slug("Добавить Ёлку"), "добавить-ёлку");
        assert_eq!(slug("🎉 party 🎉"), "party");
        assert!(slug(&"語".repeat(200)).len() <= 150);
    }
}
