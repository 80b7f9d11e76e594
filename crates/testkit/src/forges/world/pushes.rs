//! What a forge does after its repository has changed: pull requests follow their branches, reviews become stale, checks
//! begin, named issues close.

use super::{Happened, Kind, Trap, World, issues::closes};
use crate::forges::hooks::Topic;

impl World {
    /// Looks at the repository again, after a push by `actor` or a change of this double's own.
    pub(crate) fn refresh(&mut self, repo: usize, actor: &str) {
        let before = std::mem::take(&mut self.repos[repo].refs);
        let after = self.repos[repo].bare.refs();
        self.repos[repo].refs.clone_from(&after);
        let moved: Vec<(String, Option<String>, String)> = after
            .iter()
            .filter_map(|(name, sha)| Some((name.strip_prefix("refs/heads/")?.to_owned(), name, sha)))
            .filter(|(_, name, sha)| before.get(*name) != Some(*sha))
            .map(|(branch, name, sha)| (branch, before.get(name).cloned(), sha.clone()))
            .collect();
        let gone: Vec<String> = before
            .keys()
            .filter(|name| !after.contains_key(*name))
            .filter_map(|name| name.strip_prefix("refs/heads/").map(str::to_owned))
            .collect();
        if moved.is_empty() && gone.is_empty() {
            return;
        }
        self.stamp();
        for (branch, old, new) in &moved {
            self.branch_moved(repo, actor, branch, old.as_deref(), new);
        }
        for branch in &gone {
            self.branch_gone(repo, actor, branch);
        }
    }

    fn branch_moved(&mut self, repo: usize, actor: &str, branch: &str, old: Option<&str>, new: &str) {
        self.announce_push(repo, actor, branch, old, new);
        self.start_workflows(repo, "push", branch, new, actor);
        let asks = self.asks();
        let open = |world: &Self| {
            let issues = world.repos[repo].issues.iter().filter(|issue| issue.is_open);
            let pulls = issues.filter_map(|issue| Some((issue.number, issue.pull.as_ref()?)));
            pulls
                .map(|(number, pull)| (number, pull.head.clone(), pull.base.clone(), pull.head_sha.clone()))
                .collect::<Vec<_>>()
        };
        for (number, head, base, head_sha) in open(self) {
            if base == branch {
                if let Some(pull) = self.repos[repo].pull_mut(number) {
                    pull.asks_left = asks;
                }
                // A branch that holds a pull request's commits has merged it, however they got there.
                if self.kind == Kind::GitHub && self.repos[repo].bare.is_ancestor(&head_sha, new) {
                    self.set_merged(repo, number, actor, new, old.unwrap_or(new));
                }
            }
            if head == branch {
                self.head_moved(repo, actor, number, &head_sha, new);
            }
        }
        if branch == self.repos[repo].default_branch
            && let Some(old) = old
        {
            let commits = self.repos[repo].bare.log(old, new);
            for number in commits.iter().flat_map(|commit| closes(&commit.message)) {
                self.close_named(repo, number, actor);
            }
        }
    }

    fn head_moved(&mut self, repo: usize, actor: &str, number: u64, old: &str, new: &str) {
        let asks = self.asks();
        let now = self.now;
        let repository = &mut self.repos[repo];
        repository.bare.set_ref(&format!("refs/pull/{number}/head"), new);
        repository.refs.insert(format!("refs/pull/{number}/head"), new.to_owned());
        let is_forced = !repository.bare.is_ancestor(old, new);
        let added: Vec<String> = repository.bare.log(old, new).into_iter().map(|commit| commit.sha).collect();
        let Some(issue) = repository.issue_mut(number) else { return };
        issue.updated = now;
        let Some(pull) = issue.pull.as_mut() else { return };
        new.clone_into(&mut pull.head_sha);
        pull.asks_left = asks;
        let head = pull.head.clone();
        if is_forced {
            let (before, after) = (old.to_owned(), new.to_owned());
            self.record(repo, number, actor, Happened::ForcePushed { before, after });
        } else {
            for sha in added {
                self.record(repo, number, actor, Happened::Committed(sha));
            }
        }
        if self.kind == Kind::GitHub || !self.has(Trap::LateStaleness) {
            self.notice_staleness(repo, number);
        }
        self.start_workflows(repo, "pull_request", &head, new, actor);
        self.announce(Topic::Pull, "synchronize", repo, Some(number), actor);
    }

    /// Notices which reviews are of an older commit, and takes approvals away where the branch asks for that.
    fn notice_staleness(&mut self, repo: usize, number: u64) {
        let repository = &mut self.repos[repo];
        let Some((_, pull)) = repository.pull(number) else { return };
        let dismisses =
            repository.protection(&pull.base).is_some_and(|protection| protection.dismisses_stale);
        let mut dismissed = Vec::new();
        let Some(pull) = repository.pull_mut(number) else { return };
        for review in &mut pull.reviews {
            review.is_stale = review.commit != pull.head_sha;
            let takes = dismisses && review.is_stale && review.verdict == super::Verdict::Approved;
            if takes && !review.is_dismissed {
                review.is_dismissed = true;
                dismissed.push((review.id, review.author.clone()));
            }
        }
        for (review, author) in dismissed {
            let message = String::new();
            self.record(repo, number, &author, Happened::ReviewDismissed { review, message });
        }
    }

    /// Lets everything happen that a forge does a moment later.
    pub(crate) fn settle(&mut self) {
        for repo in 0..self.repos.len() {
            let numbers: Vec<u64> = self.repos[repo].issues.iter().map(|issue| issue.number).collect();
            for number in numbers {
                self.notice_staleness(repo, number);
                if let Some(issue) = self.repos[repo].issue_mut(number) {
                    issue.unsettled.clear();
                    if let Some(pull) = issue.pull.as_mut() {
                        pull.asks_left = 0;
                    }
                }
            }
        }
    }

    fn branch_gone(&mut self, repo: usize, actor: &str, branch: &str) {
        let stays = self.kind != Kind::GitHub && self.has(Trap::BranchlessPull);
        let issues = self.repos[repo].issues.iter();
        let of_branch: Vec<(u64, bool)> = issues
            .filter(|issue| issue.pull.as_ref().is_some_and(|pull| pull.head == branch))
            .map(|issue| (issue.number, issue.is_open))
            .collect();
        for (number, is_open) in of_branch {
            self.record(repo, number, actor, Happened::HeadDeleted);
            if is_open && !stays {
                let edit = super::issues::Edit { open: Some(false), ..Default::default() };
                self.edit_issue(repo, number, actor, edit);
            }
        }
    }
}
