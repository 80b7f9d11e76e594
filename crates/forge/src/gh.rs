//! Pull requests at GitHub, as far as its own command line opens them.
//!
//! It is thin on purpose: it says who is logged in, and opens a pull request for a branch that was pushed. Everything else
//! is refused. How `gh` is run is passed in.

use std::{fmt, sync::Arc};

use crate::{
    Author, Capabilities, ChangedFile, FiledItem, Forge, ForgeError, Item, ItemId, Merge, NewPull,
    OwnVerdict, Query, Refusal, Requirements, Review, text,
};

/// GitHub, through the `gh` command.
pub struct Gh {
    run: Box<Run>,
}

/// Runs `gh` with these arguments.
type Run = dyn Fn(&[&str]) -> Result<GhAnswer, ForgeError> + Send + Sync;

/// Output of `gh`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GhAnswer {
    pub is_success: bool,
    /// Standard output.
    pub out: String,
    /// Exit status and last message, if it failed.
    pub problem: String,
}

impl Gh {
    /// Creates the adapter; `run` executes `gh`.
    pub fn new(run: impl Fn(&[&str]) -> Result<GhAnswer, ForgeError> + Send + Sync + 'static) -> Self {
        Self { run: Box::new(run) }
    }

    fn ask(&self, name: &str, arguments: &[&str]) -> Result<String, ForgeError> {
        let answer = (self.run)(arguments)?;
        if answer.is_success {
            return Ok(answer.out);
        }
        Err(Refusal::Said { why: format!("`gh {name}` {}", answer.problem) }.into())
    }
}

impl fmt::Debug for Gh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gh")
    }
}

impl Forge for Gh {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            name: NAME,
            chooses_ids: false,
            shares_ids: true,
            moves_branches: false,
            reviews_own: OwnVerdict::None,
            longest_text: text::BODY,
            longest_comment: text::COMMENT,
        }
    }

    fn whoami(&self) -> Result<Author, ForgeError> {
        let login = self.ask("api user", &["api", "user", "-q", ".login"])?;
        let login = login.trim();
        if login.is_empty() {
            return Err(ForgeError::BadAnswer { problem: "`gh` told no login".to_owned() });
        }
        Ok(Author::person(login))
    }

    /// The branch is marker enough: GitHub has one open pull request for it.
    fn ensure_pull(&self, new: &NewPull, _marker: &str) -> Result<FiledItem, ForgeError> {
        let found = (self.run)(&["pr", "view", &new.branch, "--json", "url", "--jq", ".url"])?;
        if found.is_success {
            return filed(&found.out, true);
        }
        let (title, body) = (&new.title, &new.body);
        let create =
            ["pr", "create", "--base", &new.target, "--head", &new.branch, "--title", title, "--body", body];
        filed(&self.ask("pr create", &create)?, false)
    }

    fn pull(&self, _: ItemId) -> Result<Option<Arc<Item>>, ForgeError> {
        Err(unsupported("reading pull requests"))
    }

    fn pulls(&self, _: Query<'_>) -> Result<Vec<Arc<Item>>, ForgeError> {
        Err(unsupported("listing pull requests"))
    }

    fn count_closed(&self) -> Result<u64, ForgeError> {
        Err(unsupported("counting pull requests"))
    }

    fn opened(&self, _: &str) -> Result<Option<ItemId>, ForgeError> {
        Err(unsupported("finding pull requests"))
    }

    fn offer_head(&self, _: ItemId, _: &str, _: Option<&str>) -> Result<Arc<Item>, ForgeError> {
        Err(unsupported("moving pull requests on"))
    }

    fn comment(&self, _: ItemId, _: &str, _: Option<&str>) -> Result<Arc<Item>, ForgeError> {
        Err(unsupported("comments"))
    }

    fn review(&self, _: ItemId, _: &str, _: Review, _: Option<&str>) -> Result<Arc<Item>, ForgeError> {
        Err(unsupported("reviews"))
    }

    fn merge(&self, _: ItemId, _: &Merge<'_>) -> Result<Arc<Item>, ForgeError> {
        Err(unsupported("merges"))
    }

    fn close(&self, _: ItemId, _: Option<&str>) -> Result<Arc<Item>, ForgeError> {
        Err(unsupported("closing pull requests"))
    }

    fn ensure_branch_removed(&self, _: ItemId) -> Result<(), ForgeError> {
        Err(unsupported("removing branches"))
    }

    fn files(&self, _: ItemId) -> Result<Vec<ChangedFile>, ForgeError> {
        Err(unsupported("listing files"))
    }

    fn requirements(&self, _: &str) -> Result<Requirements, ForgeError> {
        Err(unsupported("reading what a branch asks"))
    }
}

const NAME: &str = "GitHub's command line";

fn unsupported(what: &'static str) -> ForgeError {
    Refusal::Unsupported { forge: NAME, what }.into()
}

/// The address is the last line that `gh` prints, and the number is its end.
fn filed(text: &str, was_there: bool) -> Result<FiledItem, ForgeError> {
    let url = text.lines().last().map(str::trim).filter(|line| line.starts_with("http"));
    let id = url.and_then(|url| ItemId::parse(url.rsplit('/').next()?));
    match (url, id) {
        (Some(url), Some(id)) => Ok(FiledItem { id, was_there, url: Some(url.to_owned()) }),
        _ => Err(ForgeError::BadAnswer { problem: "`gh` told no address of the pull request".to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers a call that begins with these words, and fails every other.
    fn gh(words: &'static str, out: &'static str) -> Gh {
        Gh::new(move |arguments| {
            let is_it = arguments.join(" ").starts_with(words);
            let problem = if is_it { String::new() } else { "ended with exit code 1: no".to_owned() };
            Ok(GhAnswer {
                is_success: is_it,
                out: if is_it { out.to_owned() } else { String::new() },
                problem,
            })
        })
    }

    fn ensure(gh: &Gh) -> Result<FiledItem, ForgeError> {
        let new = NewPull { branch: "feature/a".to_owned(), ..NewPull::default() };
        gh.ensure_pull(&new, "pull:1")
    }

    #[test]
    fn a_pull_request_that_is_open_is_taken_and_another_is_opened() {
        let url = "https://forge.example/pull/7";
        let filed = |was_there| FiledItem { id: ItemId::from(7), was_there, url: Some(url.to_owned()) };
        assert_eq!(ensure(&gh("pr view feature/a", url)).unwrap(), filed(true));
        assert_eq!(
            ensure(&gh("pr create", "warning: x\nhttps://forge.example/pull/7\n")).unwrap(),
            filed(false)
        );
        let refused = ensure(&gh("nothing", "")).unwrap_err();
        assert_eq!(refused.to_string(), "`gh pr create` ended with exit code 1: no");
        assert!(matches!(ensure(&gh("pr create", "done")), Err(ForgeError::BadAnswer { .. })));
    }

    #[test]
    fn who_is_not_known_is_no_empty_name() {
        assert_eq!(gh("api user", "octocat\n").whoami().unwrap(), Author::person("octocat"));
        assert!(matches!(gh("api user", "\n").whoami(), Err(ForgeError::BadAnswer { .. })));
        assert!(matches!(gh("pr", "").whoami(), Err(ForgeError::Refused(Refusal::Said { .. }))));
        assert!(gh("", "").pulls(Query::Open).is_err(), "what is not asked is not empty");
    }
}
