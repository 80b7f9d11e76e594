//! `warp` alone, the grouped help, and what is made of the arguments: completions and man pages.

use std::{fs, path::Path};

use insta::assert_snapshot;

use super::{coding, sandbox};

#[test]
fn warp_alone_says_what_comes_next() {
    let sandbox = sandbox();
    assert_snapshot!(sandbox.warp_ok(&[]), @r#"
    No run is open in demo.

    Next:
      warp issue new --title TEXT --body "- [ ] ..."  files an issue; each `- [ ]` line is a criterion
      warp run N                                      works on issue N
      warp doctor                                     checks agents, tests and the sandbox

    `warp help` lists every command; `warp demo` shows a whole run without an account.
    "#);
    sandbox.warp_ok(&[
        "issue",
        "new",
        "--title",
        "Add a parser",
        "--body",
        "- [ ] reads empty files",
        "--approve",
    ]);
    assert_snapshot!(sandbox.warp_ok(&[]), @r"
    No run is open in demo.

    Next:
      warp run  works on #1, Add a parser

    `warp help` lists every command; `warp demo` shows a whole run without an account.
    ");
}

#[test]
fn warp_alone_names_the_open_run() {
    let sandbox = coding();
    let status: serde_json::Value = serde_json::from_str(&sandbox.warp_ok(&["status", "--json"])).unwrap();
    let text = sandbox.warp_ok(&[]).replace(status["run"].as_str().unwrap(), "RUN");
    assert_snapshot!(text, @r"
    1 run is open in demo: RUN, issue 42.

    Next:
      warp status 42  shows how far it is

    `warp help` lists every command; `warp demo` shows a whole run without an account.
    ");
}

#[test]
fn completions_and_man_pages_name_every_command() {
    let sandbox = sandbox();
    let help = sandbox.warp_ok(&["--help"]);
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Everyday commands:")
        .take_while(|line| *line != "Options:")
        .filter(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(commands.len() > 20, "{commands:?}");
    for shell in ["bash", "zsh", "fish"] {
        let script = sandbox.warp_ok(&["completions", shell]);
        for command in &commands {
            assert!(script.contains(command), "{shell} does not know `{command}`");
        }
    }
    let script = sandbox.root().join("warp.bash");
    fs::write(&script, sandbox.warp_ok(&["completions", "bash"])).unwrap();
    let checked = sandbox.command("bash").arg("-n").arg(&script).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    let pages = sandbox.root().join("man");
    sandbox.warp_ok(&["completions", "man", "--dir", pages.to_str().unwrap()]);
    for command in &commands {
        let page = fs::read_to_string(pages.join(format!("warp-{command}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{command}");
    }
    assert!(!Path::new(&pages.join("warp-hook.1")).exists(), "plumbing has no page");
}
