//! Git in another repository, and commands that only mention git: no false alarms, and no way round.

use super::{all, judged, word};

#[test]
fn git_in_another_repository_is_that_repositorys_business() {
    all(
        "risky",
        &[
            "git init -q /tmp/x && git -C /tmp/x commit --allow-empty -m x",
            "git -C $(mktemp -d) init",
            "d=$(mktemp -d) && git init -q \"$d\" && git -C \"$d\" commit --allow-empty -m x && git -C \"$d\" reset --hard",
            "cd \"$(mktemp -d)\" && git init && git commit --allow-empty -m x && git branch -D y && git tag -d z",
            "cd /tmp/x && git rebase main && git merge other && git clean -fdx && git checkout -- .",
            "t=$(mktemp -d -t fixture.XXXXXX); git -C $t config core.hooksPath /dev/null",
            "git -C /tmp/x config user.signingkey x",
            "git -C /tmp/x update-ref refs/heads/a HEAD && git -C /tmp/x gc --prune=now",
            "GIT_DIR=/tmp/x.git git commit --allow-empty -m x",
            "git --git-dir=/tmp/x/.git --work-tree=/tmp/x commit -am x",
            "export GIT_DIR=/tmp/x/.git GIT_WORK_TREE=/tmp/x; git stash drop",
            "git init --bare -q /tmp/r.git && git clone -q /tmp/r.git /tmp/w && cd /tmp/w && git commit --allow-empty -m x && git push origin HEAD",
            "git init -q --bare /tmp/r.git && git init -q /tmp/w && git -C /tmp/w push /tmp/r.git main",
            "git clone https://example.com/x.git vendor/x && rm -rf vendor/x/.git",
            "rm -rf /tmp/x/.git",
            "echo x > /tmp/x/.git/config",
            "mkdir -p tests/fixture && git init -q tests/fixture && git -C tests/fixture commit --allow-empty -m x",
            "mkdir -p f && cd f && git init -q && git add . && git commit -qm x",
            "git -C tests/nested commit -m x",
            "d=$(mktemp -d)\ncd \"$d\"\ngit init -q\ngit commit --allow-empty -m x\ngit reset --hard",
            "set -euo pipefail\ncd /tmp/x\ngit init -q\ngit commit --allow-empty -m x",
            "mkdir -p /tmp/x\ncd /tmp/x\ngit init -q\ngit merge other",
            "git init -q /tmp/x; cd /tmp/x; git rebase main",
            "cd tests/nested && git reset --hard",
        ],
    );
}

#[test]
fn nothing_of_the_project_is_reached_by_way_of_another_repository() {
    all(
        "denied",
        &[
            "git -C /tmp/x push",
            "git -C /tmp/w push /tmp/r.git main",
            "git clone -q /srv/remote.git /tmp/w && cd /tmp/w && git push origin main",
            "git clone -q /tmp/r.git /tmp/w && cd /tmp/w && git push origin main",
            "git init -q --bare /tmp/r.git && git init -q /tmp/w && cd /tmp/w && git -c url./srv/remote.git.insteadOf=/tmp/r.git push /tmp/r.git main",
            "git init -q --bare /tmp/r && git init -q /tmp/w && cd /tmp/w && git config url./srv/remote.git.insteadOf /tmp/r && git push /tmp/r main",
            "git -C /srv/remote.git update-ref -d refs/heads/main",
            "git -C /tmp/link/.. reset --hard",
            "git -C /proc/self/fd/3 reset --hard",
            "exec 3<.; git -C /dev/fd/3 reset --hard",
            "git --git-dir=/tmp/link/../.git reset --hard",
            "cd /home/dev/.local/share/warp && git branch -D main",
            "git -C /tmp/x push origin main",
            "git -C /tmp/x push https://example.com/x.git main",
            "git -C /tmp/x push /srv/project main",
            "git -C /tmp/x push --receive-pack=x /tmp/r main",
            "git init -q /tmp/x && git -C /tmp/x remote add origin https://example.com/y && git -C /tmp/x push origin main",
            "git clone -q https://example.com/x.git /tmp/x && cd /tmp/x && git push",
            "git clone -q /srv/project /tmp/x && cd /tmp/x && git push origin main",
            "git -C /tmp/x config --global core.hooksPath /dev/null",
            "git -C /tmp/x config -f /srv/project/.git/config core.hooksPath /dev/null",
            "git -C /tmp/x config core.worktree /srv/project",
            "git -C /tmp/x --work-tree=/srv/project reset --hard",
            "GIT_DIR=/tmp/x GIT_WORK_TREE=$PWD git clean -fdx",
            "git -C /tmp/../srv/project reset --hard",
            "cd /tmp/x; git reset --hard",
            "cd /tmp/x || true; git reset --hard",
            "git -C \"$WHEREVER\" reset --hard",
            "git -C ../second reset --hard",
            "cd /srv/second && git branch -D other",
            "git init . && git reset --hard",
            "{ set -e; cd /none; git reset --hard; } || true",
            "set -e; { cd /none; git reset --hard; } || true",
            "set -e; set +e; cd /none; git reset --hard",
            "if true; then set -e; fi; cd /none; git reset --hard",
            "mkdir -p /none; cd /none; git reset --hard",
            "false && mkdir -p /tmp/x; cd /tmp/x; git reset --hard",
            "git init -q src/.. && git reset --hard",
            "git init -q x; git reset --hard",
            "TMPDIR=$PWD/src; git -C $(mktemp -d) reset --hard",
            "git -C $(mktemp -d -p .) reset --hard",
            "git -C $(mktemp -d src/x.XXXXXX) reset --hard",
            "rm -rf tests/nested/.git",
            "rm -rf $X/.git",
        ],
    );
    assert_eq!(word(&judged("git -C ../second commit -m x")), "commit");
    assert_eq!(word(&judged("GIT_WORK_TREE=/tmp git commit -am x")), "denied");
}

#[test]
fn to_mention_git_is_not_to_write_it() {
    for command in [
        "python3 tools/lint.py --ignore .git/hooks --ignore .git/objects",
        "node scripts/copy.js --write --exclude .git/config",
        "python3 -c \"import os; [open('out.txt', 'a').write(p) for p in os.listdir('.') if p != '.git/config']\"",
        "python3 - <<'EOF'\nskip = ('.git/hooks', '.git/objects')\nfor p in paths():\n    if not p.startswith(skip): open(p, 'w').write(fix(p))\nEOF",
        "python3 - <<'EOF'\nhead = open('.git/HEAD').read()\nopen('out.txt', 'w').write(head)\nEOF",
        "node -e 'fs.writeFileSync(\"a.md\", \"hooks are in .git/hooks, settings in .claude/settings.json\")'",
        "ruby -e 'File.write(\"a\", Dir[\"**/*\"].reject { |p| p.include?(\".git/refs\") }.join)'",
        "perl -ne 'print unless m{^.git/config}' files.txt > out.txt",
        "cat .gitignore .gitattributes .github/workflows/ci.yml",
        "rm -f .github/old.yml .gitmodules.bak",
        "npx prettier --write . --ignore-path .gitignore",
        "rsync -a --exclude .git/ ./ /tmp/copy/",
        "tar czf /tmp/x.tgz --exclude=.git .",
        "docker run --rm -v \"$PWD/.git:/repo/.git:ro\" image ls /repo/.git",
        "make test && echo 'see .git/config' > notes.txt",
    ] {
        let judgement = judged(command);
        assert!(matches!(word(&judgement), "allowed" | "risky"), "{command}: {judgement:?}");
    }
    all(
        "denied",
        &[
            "python3 -c \"open('.git/HEAD', 'w').write('x')\"",
            "python3 -c \"p = '.git/config'; open(p, 'a').write('x')\"",
            "python3 -c \"from pathlib import Path; Path('.git/hooks/pre-commit').unlink()\"",
            "node -e 'require(\"fs\").writeFileSync(\".claude/settings.json\", \"{}\")'",
            "ruby -e 'File.delete(\".git/index\")'",
            "perl -e 'open(F, \">\", \".git/HEAD\"); print F \"x\"'",
            "awk 'BEGIN { print \"x\" > \".git/HEAD\" }'",
            "vim -es -c 'write! .git/config' -c q",
        ],
    );
}

#[test]
fn only_the_recipe_that_is_called_counts() {
    let makefile =
        "cat > Makefile <<'EOF'\n.PHONY: test\ntest:\n\tcargo test\nrelease: test\n\tgit push --tags\nEOF\n";
    let package =
        "cat > package.json <<'EOF'\n{\"scripts\": {\"test\": \"jest\", \"release\": \"git push\"}}\nEOF\n";
    for (command, expected) in [
        (format!("{makefile}make test"), "risky"),
        (format!("{makefile}make"), "risky"),
        (format!("{makefile}make -j4 test"), "risky"),
        (format!("{package}npm test"), "risky"),
        (format!("{package}npm run test -- --watch=false"), "risky"),
        (format!("{makefile}make release"), "denied"),
        (format!("{makefile}make test release"), "denied"),
        (format!("{package}npm run release"), "denied"),
    ] {
        let judgement = judged(&command);
        assert_eq!(word(&judgement), expected, "{command}: {judgement:?}");
    }
}

#[test]
fn a_long_here_document_that_is_written_to_a_file_passes() {
    let line = "Some text with $(git push), `rm -rf .git`, \"quotes\" and 'more' of it.\n";
    for bytes in [40_000, 60_000, 120_000] {
        let body = line.repeat(bytes / line.len() + 1);
        for (command, expected) in [
            (format!("cat > docs/long.md <<'EOF'\n{body}EOF\n"), "risky"),
            (format!("cat <<'EOF' > /tmp/long.md\n{body}EOF\nwc -l /tmp/long.md"), "allowed"),
            (format!("mkdir -p docs && tee docs/a.md >/dev/null <<'EOF'\n{body}EOF\n"), "risky"),
            (format!("cat > .git/config <<'EOF'\n{body}EOF\n"), "denied"),
            (format!("cat > docs/long.md <<'EOF'\n{body}EOF\ngit push\n"), "denied"),
            (format!("bash <<'EOF'\n{body}EOF\n"), "denied"),
            (format!("cat > x.sh <<'EOF'\n{body}EOF\nsh x.sh"), "denied"),
            (format!("echo '{}'", body.replace('\'', "")), "denied"),
        ] {
            let judgement = judged(&command);
            assert_eq!(word(&judgement), expected, "{bytes}: {}: {judgement:?}", &command[..60]);
        }
    }
    let plain = "No substitution here, just text.\n".repeat(2000);
    assert_eq!(word(&judged(&format!("cat > docs/long.md <<EOF\n{plain}EOF\n"))), "risky");
}
