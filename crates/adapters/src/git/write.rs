//! What moves a branch. Only the engine calls these, and each checks the branch's old place first.

use engine::Seen;

use super::{EVERYTHING, Git};

impl Git<'_> {
    /// Commits everything that is not ignored and returns the commit.
    pub fn commit_all(&self, message: &str) -> Result<String, String> {
        self.text(&EVERYTHING, &[])?;
        if self.run(&["diff", "--cached", "--quiet"], &[])?.is_success() {
            return Err("there is nothing to commit".to_owned());
        }
        self.text(&["commit", "--quiet", "--no-verify", "--cleanup=strip", "--message", message], &[])?;
        self.known_head()
    }

    /// Moves branch `target` forward to where `branch` is, if that loses nothing, and returns the commit.
    pub fn fast_forward(&self, target: &str, branch: &str) -> Result<String, String> {
        let (to, from) = (format!("refs/heads/{target}"), format!("refs/heads/{branch}"));
        let new = self.text(&["rev-parse", "--verify", "--quiet", &format!("{from}^{{commit}}")], &[])?;
        if target == branch {
            return Ok(new);
        }
        let old = self.text(&["rev-parse", "--verify", "--quiet", &format!("{to}^{{commit}}")], &[])?;
        if !self.run(&["merge-base", "--is-ancestor", &old, &new], &[])?.is_success() {
            return Err(format!("`{target}` has moved on: rebase `{branch}` onto it"));
        }
        if let Some(tree) = self.checked_out_at(&to)? {
            return Err(format!("`{target}` is checked out in {tree}, whose files would no longer fit"));
        }
        self.text(&["update-ref", "-m", "warp: merged", &to, &new, &old], &[])?;
        Ok(new)
    }

    /// Pushes a branch to where it comes from, without force.
    pub fn push(&self, branch: &str) -> Result<(), String> {
        let remote = self.text(&["remote"], &[])?;
        let Some(remote) = remote.lines().find(|name| *name == "origin").or_else(|| remote.lines().next())
        else {
            return Err("there is no remote to push to".to_owned());
        };
        self.text(&["push", "--quiet", "--no-verify", remote, &format!("refs/heads/{branch}")], &[])
            .map(|_| ())
    }

    /// Returns the working tree in which a branch is checked out.
    fn checked_out_at(&self, branch: &str) -> Result<Option<String>, String> {
        let list = self.text(&["worktree", "list", "--porcelain"], &[])?;
        let mut tree = None;
        for line in list.lines() {
            if let Some(path) = line.strip_prefix("worktree ") {
                tree = Some(path.to_owned());
            } else if line.strip_prefix("branch ") == Some(branch) {
                return Ok(tree);
            }
        }
        Ok(None)
    }

    fn known_head(&self) -> Result<String, String> {
        match self.head() {
            Seen::Value(head) => Ok(head),
            Seen::Absent(why) | Seen::Failed(why) => Err(why),
        }
    }
}
