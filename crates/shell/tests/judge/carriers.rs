//! Programs that look harmless and run another, or write: none passes without a look.

use shell::Judgement;

use super::{
    all,
    corpus::{CARRIERS, carried, named},
    judged, word,
};

/// What the scripts and texts of the carriers run.
const RUN: [&str; 3] = ["git commit -am change", "git reset --hard", "git tag -d v1"];

#[test]
fn no_carrier_passes_as_harmless() {
    let mut passed = Vec::new();
    let mut counts = [0_usize; 4];
    for (name, carrier) in named(CARRIERS) {
        for command in RUN {
            let text = carried(carrier, command);
            let judgement = judged(&text);
            counts[usize::from(judgement.rank())] += 1;
            if judgement == Judgement::Allowed {
                passed.push(format!("{name}: {text}"));
            }
        }
    }
    println!("carriers: {} risky, {} commit, {} denied", counts[1], counts[2], counts[3]);
    assert!(passed.is_empty(), "{} pass:\n{}", passed.len(), passed.join("\n"));
}

#[test]
fn a_commit_with_another_tree_or_index_is_one_of_the_project() {
    let names = "work- index- git-dir- there- cd- directory- made- second- mktemp-";
    let is_place = |name: &str| names.split(' ').any(|begin| name.starts_with(begin));
    for (name, carrier) in named(CARRIERS).filter(|(name, _)| is_place(name)) {
        let text = carried(carrier, RUN[0]);
        let judgement = judged(&text);
        assert!(matches!(word(&judgement), "commit" | "denied"), "{name}: {text}: {judgement:?}");
    }
}

#[test]
fn what_is_plainly_written_to_a_shell_is_refused() {
    let is_text = |(name, text): &(&str, &str)| name.starts_with("process") && text.contains("{q}");
    for (name, carrier) in named(CARRIERS).filter(is_text) {
        let text = carried(carrier, "git push origin main");
        assert_eq!(word(&judged(&text)), "denied", "{name}: {text}");
    }
}

#[test]
fn what_options_and_variables_carry_is_read() {
    all(
        "denied",
        &[
            "git grep -inO'git push' x",
            "gcc -wrapper git,push x.c",
            "tar cf /tmp/x --use-compress-program 'git push' a",
            "tar xf a.tar --to-command='git reset --hard'",
            "rsync -ave 'sh -c \"git push\"' a host:b",
            "PAGER='git push' git log",
            "RUSTC_WRAPPER='git push' cargo check",
            "env --split-s 'git push'",
            "split --filter='git push' a",
            "jobs -x git push",
            "f() { echo 'git push'; } > >(sh); f",
            "while true; do echo 'git push'; break; done > >(sh)",
            "echo 'git push' &> >(sh)",
            "GIT_ALLOW_PROTOCOL=ext git fetch 'ext::sh -c x'",
            "GIT_SHALLOW_FILE=/tmp/x git log",
            "GIT_REPLACE_REF_BASE=refs/x git log",
        ],
    );
    all(
        "risky",
        &[
            "cargo build",
            "cargo check --workspace",
            "cargo doc --no-deps",
            "go build ./...",
            "go vet ./...",
            "gcc -c a.c -o /tmp/a.o",
            "rustc --edition 2024 a.rs -o /tmp/a",
            "clang -fsyntax-only a.c",
            "pip download requests",
            "pip install -e .",
            "npx tsc --noEmit",
            "tsc --noEmit",
            "prettier --check .",
            "ldd ./a",
            "frobnicate --version",
            "yarn --version",
            "ANYTHING=1 ls",
            "export JUST=this; ls",
            "LD_AUDIT=/tmp/x ls",
            "git log $RANGE",
            "rg $FLAGS x",
            "sort $FLAGS names.txt",
            "sed -n \"$SCRIPT\" a",
            "less +F log",
            "less -o out a",
            "man -C x ls",
            "time -o out ls",
            "strace -o out ls",
            "curl -O https://example.com/x",
            "wget https://example.com/x",
        ],
    );
}
