//! Rules about git, one sentence each.

use super::{all, judged_in, reason, word};

#[test]
fn pushing_is_refused_in_any_form() {
    all(
        "denied",
        &[
            "git push",
            "git push --dry-run",
            "git push -f",
            "git push origin :other",
            "git -C /tmp push",
            "hub push",
            "git send-pack origin main",
            "git lfs push origin main",
            "git-push",
            "/usr/lib/git-core/git-push",
            "git --no-pager push",
            "git -c color.ui=never push",
            "GIT push",
            "git push --force-with-lease",
            "git push origin +main",
            "git push --delete origin v1",
            "git push --mirror",
            "git remote-https origin https://x.y/z",
        ],
    );
}

#[test]
fn an_ordinary_commit_asks_for_leave() {
    all(
        "commit",
        &["git commit", "git commit -m x", "git commit -am x", "git commit -m -n", "git commit -mn"],
    );
    all(
        "commit",
        &["git commit -uno -m x", "git commit -Snn -m x", "git status && git commit -m x; make -n"],
    );
}

#[test]
fn a_commit_without_its_checks_is_refused() {
    all(
        "denied",
        &[
            "git commit -n -m x",
            "git commit -anm x",
            "git commit --no-verify",
            "git commit -m x --no-ver",
            "git commit --no-v -m x",
            "git commit --no -m x",
            "git commit --n -m x",
            "git commit $X -m x",
            "git commit -m x \"$X\"",
        ],
    );
    all(
        "commit",
        &["git commit -m \"$X\"", "git commit -m x -- $X", "git commit --no-edit", "git commit -o a -m x"],
    );
}

#[test]
fn rewriting_history_is_refused() {
    all(
        "denied",
        &[
            "git commit --amend",
            "git commit --amen -m x",
            "git rebase -i main",
            "git rebase --abort",
            "git filter-branch HEAD",
            "git filter-repo --path x",
            "git replace a b",
            "git fast-import",
            "git commit-tree HEAD^{tree} -m x",
            "git rebase --onto a b",
            "git replay --onto a b..c",
        ],
    );
}

#[test]
fn bringing_commits_in_is_refused() {
    all(
        "denied",
        &[
            "git merge x",
            "git merge --abort",
            "git cherry-pick x",
            "git revert HEAD",
            "git am",
            "git pull --ff-only",
            "git pull --rebase",
            "git merge --squash x",
            "git cherry-pick -n x",
        ],
    );
}

#[test]
fn a_reset_may_unstage_and_no_more() {
    all(
        "allowed",
        &["git reset", "git reset HEAD", "git reset -- x", "git reset @ x", "git reset HEAD~1 -- src/a.rs"],
    );
    all("risky", &["git reset src/a.rs", "git reset ."]);
    all(
        "denied",
        &[
            "git reset --hard",
            "git reset --har",
            "git reset HEAD~1",
            "git reset --soft main",
            "git reset $x",
            "git reset :/fix",
        ],
    );
    assert!(reason("git reset main").contains("git reset -- PATH"));
}

#[test]
fn throwing_work_away_is_refused() {
    all(
        "denied",
        &[
            "git clean -f",
            "git clean -fdx",
            "git clean -i",
            "git clean --forc",
            "git checkout -- a",
            "git checkout .",
            "git checkout src/main.rs",
            "git checkout HEAD~1 src",
            "git checkout -f main",
            "git checkout --theirs a.rs",
            "git checkout -p",
            "git restore a",
            "git restore -SW a",
            "git switch -f main",
            "git switch --discard-changes x",
            "git stash drop",
            "git stash clear",
            "git rm -f a",
            "git worktree remove -f ../x",
            "git checkout-index -fa",
            "git read-tree -mu HEAD",
            "git mv -f a b",
            "git submodule deinit -f x",
            "git worktree remove --force ../x",
            "git worktree remove --fo ../x",
            "git stash drop stash@{1}",
            "git stash; git stash drop",
        ],
    );
}

#[test]
fn moving_or_deleting_refs_is_refused() {
    all(
        "denied",
        &[
            "git branch -d x",
            "git branch -D x",
            "git branch --del x",
            "git branch -m a b",
            "git branch -M a b",
            "git branch -f main HEAD~1",
            "git branch -dr origin/x",
            "git tag -d v1",
            "git tag -f v1",
            "git update-ref -d x",
            "git symbolic-ref HEAD x",
            "git symbolic-ref -d HEAD",
            "git remote prune origin",
            "git remote rm origin",
            "git remote set-url origin x",
            "git fetch --prune",
            "git fetch -p",
            "git fetch origin a:b",
            "git notes add -m x",
            "git reflog expire --all",
            "git reflog delete HEAD@{0}",
            "git gc --prune=now",
            "git prune",
            "git repack -ad",
            "git checkout -B main",
            "git switch -C main",
            "git worktree prune",
            "git tag --del v1",
            "git branch -rd origin/x",
            "git update-ref --stdin",
            "git refs delete refs/heads/x",
            "git fetch --all --pru",
        ],
    );
}

#[test]
fn settings_that_change_what_git_runs_are_refused() {
    all(
        "denied",
        &[
            "git config core.hooksPath x",
            "git config set core.hooksPath x",
            "git config --unset core.hooksPath",
            "git config alias.x push",
            "git config --add include.path x",
            "git config --edit",
            "git config --global a.b c",
            "git -c core.fsmonitor=x status",
            "git -c core.sshCommand=x fetch",
            "git -c alias.x='!git push' x",
            "git -c core.pager='sh x' log",
            "git --config-env=core.pager=X log",
            "git --exec-path=x log",
            "git config --file x a.b c",
            "git clone -c core.fsmonitor=x y",
            "git -c CORE.HOOKSPATH=x status",
            "git --config-env core.hooksPath=X commit -m x",
            "git config --local core.hooksPath x",
            "git config --replace-all core.hooksPath x",
            "git config --unset-all alias.x",
            "git config $X y",
            "git init --template=x",
            "git lfs install",
            "husky",
            "npx husky install",
            "pre-commit install",
        ],
    );
    all("allowed", &["git config user.name x", "git -c core.pager=cat log", "git config --get alias.x"]);
}

#[test]
fn variables_that_change_what_git_runs_are_refused() {
    all(
        "denied",
        &[
            "GIT_CONFIG_COUNT=1 git log",
            "export GIT_CONFIG_KEY_0=core.hooksPath",
            "GIT_SSH_COMMAND=x git fetch",
            "env GIT_EXEC_PATH=x git log",
            "GIT_EXTERNAL_DIFF=x git diff",
            "GIT_CONFIG_GLOBAL=x git log",
            "GIT_PAGER='git push' git log",
            "declare -x GIT_CONFIG_PARAMETERS=x",
            "read GIT_SSH <<< x",
            "sudo GIT_CONFIG_COUNT=1 git log",
            "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0=push git x",
        ],
    );
    all(
        "risky",
        &["PATH=/x:$PATH git log", "LD_PRELOAD=x git log", "BASH_ENV=x bash -c ls", "GIT_EDITOR=x git log"],
    );
}

#[test]
fn another_place_for_the_repository_is_refused_for_writing() {
    all(
        "denied",
        &[
            "GIT_DIR=.git git commit -m x",
            "git --git-dir=.git commit -m x",
            "git --git-dir .git stash",
            "GIT_WORK_TREE=/tmp/x GIT_DIR=$X git commit -m x",
            "GIT_INDEX_FILE=.git/x git commit -m x",
            "sudo GIT_DIR=.git git commit -m x",
            "export GIT_DIR=/srv/project/.git; cd /tmp; git commit -m x",
        ],
    );
    all("allowed", &["git --git-dir=.git log", "GIT_DIR=.git git status"]);
    all("risky", &["GIT_DIR=/tmp/x/.git git commit -m x"]);
}

#[test]
fn a_commit_in_another_repository_is_only_risky() {
    all("risky", &["git -C /tmp/x commit -m x", "cd /tmp/x && git commit -m x"]);
    all("commit", &["cd /tmp/x; git commit -m x", "cd $X && git commit -m x", "git -C crates commit -m x"]);
    assert_eq!(word(&judged_in("/tmp", "git -C /srv/project commit -m x")), "commit");
    assert_eq!(word(&judged_in("/tmp", "git -C /tmp/../srv/project/src push")), "denied");
}

#[test]
fn commands_that_git_runs_are_read() {
    all(
        "denied",
        &[
            "git bisect run git push",
            "git submodule foreach git push",
            "git submodule --quiet foreach --recursive 'git push'",
            "git difftool -y -x 'git push'",
            "git difftool --extcmd='git push'",
            "git grep -O'git push' x",
            "git grep --open='git push' x",
            "git fetch --upload-pack='git push' origin",
        ],
    );
}
