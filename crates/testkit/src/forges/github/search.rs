//! The search for issues: the words that clients use most.

use serde_json::json;

use super::{Call, invalid, shapes};
use crate::forges::{
    http::Reply,
    world::{Issue, Repo},
};

impl Call<'_> {
    pub(super) fn search(&self) -> Reply {
        let query = self.request.query("q").ok_or_else(|| invalid("Search", "q", "missing", None))?;
        let words = words(query);
        let mut found = Vec::new();
        for (index, repo) in self.world.repos.iter().enumerate() {
            let is_visible = !repo.is_private || self.role(index) > crate::forges::world::Role::None;
            let issues = repo.issues.iter().filter(|_| is_visible);
            found.extend(
                issues
                    .filter(|issue| words.iter().all(|word| holds(repo, issue, word)))
                    .map(|issue| (index, issue)),
            );
        }
        found.sort_by_key(|(_, issue)| std::cmp::Reverse(issue.id));
        let total = found.len();
        let shown: Vec<_> = self
            .page()
            .cut(found)
            .into_iter()
            .map(|(repo, issue)| {
                let shown = shapes::issue(self.world, repo, issue.number);
                shapes::with(shown, &[("score", json!(1.0))])
            })
            .collect();
        let body = json!({ "total_count": total, "incomplete_results": false, "items": shown });
        Ok(self.linked(crate::forges::http::Answer::json(200, &body), total))
    }
}

/// Splits a search at its spaces, but not inside quotation marks.
pub(super) fn words(query: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for letter in query.chars() {
        match letter {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(std::mem::take(&mut word)),
            _ => word.push(letter),
        }
    }
    words.push(word);
    // Brackets group what is joined by "and", which all words are.
    words.retain(|word| !matches!(word.as_str(), "" | "(" | ")"));
    words
}

/// Says whether an issue is what a word of a search asks for.
pub(super) fn holds(repo: &Repo, issue: &Issue, word: &str) -> bool {
    let Some((key, value)) = word.split_once(':').filter(|(key, _)| KEYS.contains(key)) else {
        // The search ignores case, and looks into comments too.
        let word = word.to_lowercase();
        let texts = issue.comments.iter().map(|comment| &comment.body).chain([&issue.title, &issue.body]);
        return texts.into_iter().any(|text| text.to_lowercase().contains(&word));
    };
    let is = |text: &str| text.eq_ignore_ascii_case(value);
    match (key, value) {
        ("repo", _) => is(&repo.full_name()),
        ("user" | "org", _) => is(&repo.owner),
        ("is" | "type", "issue") => !issue.is_pull(),
        ("is" | "type", "pr") => issue.is_pull(),
        ("is" | "state", "open") => issue.is_open,
        ("is" | "state", "closed") => !issue.is_open,
        ("is", "merged") => issue.pull.as_ref().is_some_and(|pull| pull.merged.is_some()),
        ("label", _) => issue.labels.iter().filter_map(|id| repo.label(*id)).any(|label| is(&label.name)),
        ("author", _) => is(&issue.author),
        ("assignee", _) => issue.assignees.iter().any(|who| is(who)),
        ("head", _) => issue.pull.as_ref().is_some_and(|pull| pull.head == value),
        ("base", _) => issue.pull.as_ref().is_some_and(|pull| pull.base == value),
        // What only narrows where the words are looked for, or orders them.
        ("in" | "sort" | "archived", _) => true,
        _ => false,
    }
}

const KEYS: &[&str] = &[
    "repo", "user", "org", "is", "type", "state", "label", "author", "assignee", "head", "base", "in",
    "sort", "archived",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_words_stay_together() {
        assert_eq!(words("( repo:a/b )  label:\"good first\" x"), ["repo:a/b", "label:good first", "x"]);
    }
}
