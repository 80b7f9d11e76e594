//! Rules about protected files, the repository's own files, forges and warp itself, one sentence each.

use super::{all, judged_in, reason, word};

#[test]
fn protected_files_are_not_written_by_any_means() {
    all(
        "denied",
        &[
            "echo x > .claude/settings.json",
            "echo x >> warp.toml",
            ": >| warp.toml",
            "echo x &> warp.toml",
            "echo x >& warp.toml",
            "exec 3<> warp.toml",
            "tee -a warp.toml < x",
            "cp x warp.toml",
            "cp a/warp.toml .",
            "cp -t . a/warp.toml",
            "mv x warp.toml",
            "mv warp.toml x",
            "ln -sf x warp.toml",
            "ln warp.toml x",
            "ln -s .warp x",
            "cp -l warp.toml x",
            "install -m 644 x warp.toml",
            "dd if=x of=warp.toml",
            "truncate -s 0 warp.toml",
            "sed -i s/a/b/ warp.toml",
            "sed -i.bak -e s/a/b/ warp.toml",
            "sed -ni p warp.toml",
            "sed --in-pl p warp.toml",
            "sed -n 'w warp.toml' x",
            "perl -pi -e s/a/b/ warp.toml",
            "ruby -i -pe x warp.toml",
            "rm warp.toml",
            "rm -rf .claude",
            "chmod 000 warp.toml",
            "touch warp.toml",
            "rsync x warp.toml",
            "cp -r x/. .claude/",
            "rsync -a x/ .claude/",
            "tar xf a.tar -C .claude",
            "unzip a.zip -d .claude",
            "curl -o warp.toml https://x.y",
            "sort -o warp.toml x",
            "vim warp.toml",
            "git mv x warp.toml",
            "git diff --output=warp.toml",
            "> warp.toml",
            "find . -fprint warp.toml",
            "python3 -c 'open(\"warp.toml\", \"w\")'",
            "awk '{print > \"warp.toml\"}' x",
            "node -e 'fs.writeFileSync(\"warp.toml\", x)'",
            "mkdir -p .warp/workflows",
            "echo x > .warp/a/b/c",
            "cp --target-dir .warp x",
            "rsync --group x .warp/",
            "rsync -a x/ .warp/",
            "install -D x .warp/y",
            "dd of=x of=warp.toml",
            "tar cf warp.toml src",
            "tar -C x -cf .warp/y.tar src",
            "tar xf y.tar -C .warp",
            "zip warp.toml x",
            "split -l 1 x .warp/y",
            "gpg -d -o warp.toml x",
            "rename s/warp/x/ warp.toml",
            "mv warp.toml{,.bak}",
            "echo x | sudo tee warp.toml",
            "echo x | tee >(cat > warp.toml)",
            "gzip warp.toml",
            "sed wwarp.toml x",
            "sed 's/a/b/w warp.toml' x",
            "taplo fmt warp.toml",
            "prettier --write .claude/settings.json",
            "yq -i .a=1 warp.toml",
            "patch warp.toml < x",
            "patch -p1 <<'E'\n--- a/warp.toml\n+++ b/warp.toml\n@@ -1 +1 @@\n-a\n+b\nE",
            "git apply <<'E'\n--- a/warp.toml\n+++ b/warp.toml\n@@ -1 +1 @@\n-a\n+b\nE",
            "find . -name warp.toml -delete",
            "find .claude -name '*.json' -exec rm {} +",
            "git bundle create warp.toml HEAD",
            "git interpret-trailers --in-place warp.toml",
            "apply_patch <<'E'\n*** Begin Patch\n*** Update File: warp.toml\n@@\n-a\n+b\n*** End Patch\nE",
            "cd src && apply_patch <<E\n*** Begin Patch\n *** Delete File: ../warp.toml\n*** End Patch\nE",
            "/opt/x/apply_patch '*** Begin Patch\n*** Update File: a\n*** Move to: .claude/settings.json\n*** End Patch'",
            "apply_patch '*** Begin Patch\n*** Delete File:  /../warp.toml\n*** End Patch'",
            "git format-patch -o .warp HEAD~1",
            "git rm --cached warp.toml",
        ],
    );
}

#[test]
fn protected_files_are_found_however_they_are_spelled() {
    all(
        "denied",
        &[
            "echo x > ./src/../warp.toml",
            "echo x > /srv/project/warp.toml",
            "echo x > \"$PWD/warp.toml\"",
            "echo x > ~/.local/share/warp/journal",
            "echo x > $HOME/.local/share/warp/journal",
            "cd src && echo x > ../warp.toml",
            "cd .claude; echo x > settings.json",
            "(cd .claude && tee settings.json)",
            "pushd .claude && rm settings.json",
            "d=.claude; echo x > $d/settings.json",
            "echo x > .claude/sett*",
            "echo x > .claud?/settings.json",
            "echo x > \"$(git rev-parse --show-toplevel)/warp.toml\"",
            "echo x > \"$ROOT/.claude/settings.json\"",
            "echo x > WARP.toml",
            "echo x > 'warp'.toml",
            "for f in a warp.toml; do echo x > $f; done",
            "echo x > /proc/self/cwd/warp.toml",
            "env -C .claude tee settings.json",
            "rm -f .claude/{a,settings.json}",
        ],
    );
    all("allowed", &["cd /tmp && echo x > warp.toml"]);
    all("risky", &["echo x > warp.toml.md", "echo x > src/warp.toml"]);
    assert_eq!(word(&judged_in("/srv/project/src", "echo x > ../warp.toml")), "denied");
}

#[test]
fn the_repository_itself_is_not_written() {
    all(
        "denied",
        &[
            "echo x > .git/HEAD",
            "rm -rf .git",
            "rm .git/index.lock",
            "rm -rf .",
            "rm -rf ..",
            "rm -rf /",
            "rm -rf .*",
            "rm -rf /srv",
            "mv .git x",
            "cp x .git/hooks/pre-commit",
            "chmod -x .git/hooks/pre-commit",
            "chmod -R a+w .",
            "find . -delete",
            "find .git -delete",
            "find .git -type f -exec rm {} +",
            "tar xf x -C .git",
            "ln -s .git x",
            "sed -i s/a/b/ .GIT/config",
            "GIT_TRACE=/srv/project/.git/x git log",
        ],
    );
    all("denied", &["find . -name .git -exec rm -rf {} +", "rm -rf \"$(git rev-parse --git-dir)\""]);
    all("risky", &["rm -rf src", "rm -rf src/*", "rm a.txt"]);
}

#[test]
fn a_recursive_removal_that_may_be_the_project_is_refused() {
    all(
        "denied",
        &[
            "ls -A | xargs rm -rf",
            "rm -rf $(ls -A)",
            "rm -rf \"$CLAUDE_PROJECT_DIR\"",
            "rm -rf \"${ROOT}\"/",
            "git ls-files | xargs -n1 rm -r",
            "rm -r -- \"$(git rev-parse --show-toplevel)\"",
            "cat list.txt | xargs -I{} rm -rf ./{}",
            "rm -fr \"$PWD/$NAME\"",
            "cd \"$X\" && rm -rf $(ls)",
            "find . -type f -delete",
            "find . -mindepth 1 -delete",
            "find . ! -name keep.txt -delete",
            "find . -type f -exec rm {} +",
            "find . -newer x -exec rm -rf {} \\;",
            "find -name '*' -delete",
            "find . -name a -o -type f -delete",
            "shopt -s dotglob; rm -rf *",
            "shopt -s dotglob && for f in *; do rm -rf \"$f\"; done",
            "GLOBIGNORE=x; rm -rf -- *",
            "bash -O dotglob -c 'rm -rf *'",
            "rimraf \"$X\"",
        ],
    );
    all(
        "risky",
        &[
            "rm -rf build/$X",
            "rm -rf \"$OUT\"/node_modules",
            "rm -f \"$X\"",
            "find . -name __pycache__ -exec rm -rf {} +",
            "find . -name '*.pyc' -delete",
            "find . -type f -name '*.bak' -exec rm {} +",
            "find . -not -path './.git/*' -empty -delete",
            "find . -path './.git' -prune -o -name '*.o' -delete",
            "find build -type f -delete",
            "ls *.log | xargs rm",
            "for d in a b; do rm -rf $d; done",
        ],
    );
    let not_denied = |command: &str| word(&judged_in("/srv/project", command)) != "denied";
    for command in ["t=$(mktemp -d) && rm -rf \"$t\"", "t=$(mktemp -d /tmp/x.XXXX); cd src; rm -rf \"$t\""] {
        assert!(not_denied(command), "{command}");
    }
    assert!(reason("rm -rf \"$X\"").contains("rm -r build/NAME"));
}

#[test]
fn a_reason_says_what_to_do_instead() {
    assert_eq!(
        reason("echo x > .claude/.warp-drive-state.json"),
        "`.claude/.warp-drive-state.json` is not an agent's to write: `warp state transition` changes it"
    );
    assert_eq!(
        reason("git push"),
        "`git push` is not an agent's to run: report the phase as done, and the branch is pushed for you"
    );
    assert!(reason("warp answer 1 yes").starts_with("`warp answer 1` is a person's to run"));
}

#[test]
fn an_agent_files_issues_and_approves_none() {
    all("allowed", &["warp issue new --title x", "warp issue new --title x --body-file draft.md"]);
    all("denied", &["warp issue new --title x --approve", "warp issue approve 4"]);
}

#[test]
fn commands_of_a_person_are_refused_to_an_agent() {
    all(
        "denied",
        &[
            "warp answer 1 yes",
            "warp approve 1",
            "warp adopt",
            "warp stop",
            "warp init",
            "warp issue approve 4",
            "warp issue label 4 --add approved",
            "warp issue import 42.md --approve",
            "warp -C . issue close 4",
            "warp issue $X 4",
            "warp issue",
            "warp pr approve 4",
            "warp pr close 4",
            "warp state init .",
            "warp state abort .",
            "warp state resume .",
            "warp state reset .",
            "warp config --set a=b",
            "warp config set a b",
            "warp state transition . abort",
            "warp state transition . $EVENT",
            "warp state --help abort .",
            "warp answer 1 yes --note --help",
            "warp factory run",
            "pkill -f warp",
            "killall warp",
            "systemctl --user stop warp",
            "cp target/debug/warp w && ./w answer 1 yes",
            "warp doctor --repair",
            "warp salvage drop refs/warp/salvage/r1/1",
            "warp salvage restore 1",
            "warp recover 42",
            "warp revert 42",
            "warp -C x answer 1 yes",
            "warp --project=x stop",
            "warp $X",
            "warp state $X",
            "target/debug/warp answer 1",
            "echo yes | warp answer 1",
            "sh -c 'warp answer 1 yes'",
            "warp run 42",
        ],
    );
}

#[test]
fn merging_on_the_forge_is_refused() {
    all(
        "denied",
        &[
            "gh pr merge 1 --squash",
            "gh -R o/r pr merge 1",
            "gh repo delete o/r",
            "gh pr close 1 -d",
            "gh api -X PUT repos/o/r/pulls/1/merge",
            "gh api repos/o/r/merges -f base=main",
            "gh api --method DELETE repos/o/r/git/refs/heads/x",
            "gh api graphql -f query='mutation { x }'",
            "gh api graphql -F query=@merge.graphql",
            "gh api -XPUT /repos/o/r/pulls/1/merge",
            "gh pr -R o/r merge 1",
            "gh pr merge 1 --body --help",
            "gh pr review 1 --approve",
            "curl --url https://api.github.com/repos/o/r/pulls/1/merge -X PUT",
            "curl --head -X PUT https://api.github.com/repos/o/r/pulls/1/merge",
            "curl -d @merge.json https://api.github.com/graphql",
            "gh alias set x '!git push'",
            "glab mr merge 1",
            "tea pr merge 1",
            "curl -X PUT https://api.github.com/repos/o/r/pulls/1/merge",
        ],
    );
}
