//! A project with a program of its own, and files that were moved and removed.

use std::fs;

use serde_json::Value;
use testkit::Sandbox;

use crate::support::InProject as _;

pub(crate) const WARP: &str = env!("CARGO_BIN_EXE_warp");

/// A program that tells what it can do. One of its commands is not listed.
const TEA: &str = r#"#!/bin/sh
case "$*" in
--help) cat <<END
Make tea

Usage: tea [OPTIONS] <COMMAND>

Commands:
  brew   Brew it
  pour   Pour it
  cup    Look after cups
  help   Print this

Options:
  -C, --kitchen <DIR>  Work there
      --json           Print JSON
  -h, --help           Print help
END
;;
"brew --help") printf 'Usage: tea brew [OPTIONS] [LEAF]...\n\nOptions:\n  -n, --minutes <N>  How long\n      --strong       Longer\n' ;;
"pour --help") printf 'Usage: tea pour\n' ;;
"cup --help") printf 'Usage: tea cup <COMMAND>\n\nCommands:\n  fill   Fill it\n  wash   Wash it\n' ;;
"cup fill --help") printf 'Usage: tea cup fill\n' ;;
"cup wash --help") printf 'Usage: tea cup wash\n\nOptions:\n      --hot  With hot water\n' ;;
"kettle --help") printf 'Usage: tea kettle\n' ;;
"leaves --table") printf '| leaf | minutes |\n|---|---|\n| green | 2 |\n' ;;
*) echo "unknown: $*" >&2; exit 2 ;;
esac
"#;

/// Makes the project.
pub(crate) fn project() -> Sandbox {
    let sandbox = Sandbox::new(WARP);
    sandbox.write("warp.toml", "[workflow]\ndocs_programs = \"tea=./tools/tea\"\n");
    sandbox.program("tools/tea", TEA);
    let old = |path: &str| sandbox.write(path, format!("This was first written as {path}.\n").repeat(9));
    for path in ["src/parser.rs", "src/old.rs", "src/leaf.rs", "old/a.rs", "old/b.rs", "docs/first.md"] {
        old(path);
    }
    for path in ["pictures/logo.png", "pictures/my tea.png", "lib/x.rs", "lib/y.rs"] {
        old(path);
    }
    for path in ["api/index.md", "api/kettle.md", "website/index.md", "website/kettle.md"] {
        old(path);
    }
    sandbox.write("a/twin.md", "# Twin of a\n");
    sandbox.write("b/twin.md", "# Twin of b\n");
    let guide = "# Guide\n\n## First steps\n\n## Notes\n\n## Notes\n\n## What's new, in 2.0?\n\n\
        ## `brew` & _pour_\n\n<a id=\"by-hand\"></a>\n\nSetext\n======\n\n## Über Tee\n\n### Same length a\n\n### Same length b\n";
    sandbox.write("docs/guide.md", guide);
    sandbox.write("docs/with space.md", "# Space\n");
    sandbox.write("docs/sub/deep.md", "# Deep\n");
    commit(&sandbox, "chore: files");
    fs::create_dir_all(sandbox.root().join("src/read")).unwrap();
    fs::create_dir_all(sandbox.root().join("assets")).unwrap();
    fs::create_dir_all(sandbox.root().join("docs/manual")).unwrap();
    sandbox.git(&["mv", "src/parser.rs", "src/read/parser.rs"]);
    sandbox.git(&["mv", "docs/first.md", "docs/manual/second.md"]);
    sandbox.git(&["mv", "pictures/logo.png", "assets/logo.png"]);
    sandbox.git(&["mv", "pictures/my tea.png", "assets/my tea.png"]);
    sandbox.git(&["rm", "--quiet", "-r", "src/old.rs", "old", "api"]);
    commit(&sandbox, "chore: move");
    // Moved once more, so that the way leads over two commits.
    sandbox.git(&["mv", "docs/manual/second.md", "docs/manual/third.md"]);
    commit(&sandbox, "chore: move on");
    sandbox
}

pub(crate) fn commit(sandbox: &Sandbox, subject: &str) {
    sandbox.commit(subject);
}

/// Runs `warp docs` with `--json`, and returns the findings and the exit code.
pub(crate) fn findings(sandbox: &Sandbox, arguments: &[&str]) -> (Vec<Value>, Option<i32>) {
    let arguments = [&["docs"], arguments, &["--json"]].concat();
    let output = sandbox.warp_command(&arguments).output().unwrap();
    let shown: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(shown["version"], 1);
    (shown["findings"].as_array().unwrap().clone(), output.status.code())
}
