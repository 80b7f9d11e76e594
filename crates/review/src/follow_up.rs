//! Work that a review proposes beside the change, as issues.

use crate::FollowUp;

/// The label of such an issue.
pub const LABEL: &str = "tech-debt";
/// The most issues that one review files.
pub const MOST: usize = 5;

/// Returns a title as it is compared: its words, in lower case, whatever stands between them.
pub fn normalised(title: &str) -> String {
    let words = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// Returns those that are filed: no two of the same title, and none that an open issue has. `open` are their titles.
pub fn to_file<'f>(follow_ups: &'f [FollowUp], open: &[String]) -> Vec<&'f FollowUp> {
    let mut known: Vec<String> = open.iter().map(|title| normalised(title)).collect();
    let mut filed = Vec::new();
    for follow_up in follow_ups {
        let title = normalised(&follow_up.title);
        if title.is_empty() || known.contains(&title) {
            continue;
        }
        known.push(title);
        filed.push(follow_up);
    }
    filed.truncate(MOST);
    filed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_title_is_filed_once_whatever_its_case_and_marks() {
        let of = |title: &str| FollowUp { title: title.to_owned(), details: String::new() };
        let all = ["Split `parse()`", "split parse", "Tidy up!", " ?", "Rename a.b"].map(of);
        let open = ["TIDY UP".to_owned()];
        let titles: Vec<&str> = to_file(&all, &open).iter().map(|one| one.title.as_str()).collect();
        assert_eq!(titles, ["Split `parse()`", "Rename a.b"]);
    }

    #[test]
    fn a_review_files_at_most_five() {
        let all: Vec<FollowUp> = (0..9)
            .map(|number| FollowUp { title: format!("part {number}"), details: String::new() })
            .collect();
        assert_eq!(to_file(&all, &[]).len(), MOST);
    }
}
