//! The user's own git hooks run for warp's commits and pushes.

use super::{committed, next, project, refused, to_committing};
use crate::support::InProject as _;

#[test]
fn a_hook_that_fails_stops_the_commit_and_is_heard() {
    for rails in [false, true] {
        let sandbox = project();
        sandbox.program(".git/hooks/pre-commit", "#!/bin/sh\necho 'no trailing spaces'\nexit 7\n");
        if rails {
            sandbox.warp_ok(&["init", "--level", "3"]);
        }
        to_committing(&sandbox, "3");
        let head = sandbox.git(&["rev-parse", "HEAD"]);
        let said = refused(&sandbox);
        assert!(
            said.contains("pre-commit hook ended with exit 7") && said.contains("no trailing spaces"),
            "{said}"
        );
        assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), head);
    }
}

#[test]
fn hooks_see_what_is_committed_and_what_they_change_is_part_of_it() {
    for path in [".git/hooks", ".husky"] {
        let sandbox = project();
        if path == ".husky" {
            sandbox.git(&["config", "core.hooksPath", ".husky"]);
        }
        let format =
            "#!/bin/sh\ngit diff --cached --name-only > .git/seen\necho '// formatted' >> parser.rs\n";
        sandbox.program(format!("{path}/pre-commit"), format);
        sandbox.program(format!("{path}/commit-msg"), "#!/bin/sh\necho 'Signed-off-by: me' >> \"$1\"\n");
        sandbox.warp_ok(&["init", "--level", "3"]);
        sandbox.git(&["add", "--all"]);
        sandbox.git(&["commit", "--quiet", "--no-verify", "-m", "chore: set up"]);
        to_committing(&sandbox, "3");
        next(&sandbox);
        assert_eq!(sandbox.read(".git/seen").unwrap(), "parser.rs\n", "{path}");
        assert_eq!(committed(&sandbox), "parser.rs");
        assert!(sandbox.git(&["show", "HEAD:parser.rs"]).ends_with("// formatted"), "{path}");
        assert!(sandbox.git(&["log", "-1", "--format=%B"]).contains("Signed-off-by: me"), "{path}");
        assert_eq!(sandbox.git(&["status", "--short"]), "", "{path}");
    }
}

#[test]
fn a_hook_for_messages_may_refuse_one() {
    let sandbox = project();
    sandbox.program(
        ".git/hooks/commit-msg",
        "#!/bin/sh\ngrep -q JIRA \"$1\" || { echo 'no ticket'; exit 1; }\n",
    );
    to_committing(&sandbox, "3");
    assert!(refused(&sandbox).contains("no ticket"));
    sandbox.warp_ok(&["next", "--step", "-m", "feat: parse JIRA-1"]);
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s"]), "feat: parse JIRA-1");
}

#[test]
fn what_a_hook_for_messages_puts_into_the_index_alone_is_not_committed() {
    let sandbox = project();
    let hook = "#!/bin/sh\nblob=$(echo untested | git hash-object -w --stdin)\n\
                git update-index --add --cacheinfo 100644,$blob,sneaked.rs\n";
    sandbox.program(".git/hooks/commit-msg", hook);
    to_committing(&sandbox, "3");
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let said = refused(&sandbox);
    insta::assert_snapshot!(sandbox.stable(&said), @"error: the files have changed while the tests ran; let nothing else write here, then `warp next`");
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), head);
}
