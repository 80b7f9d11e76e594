use std::fs;

use forge::{ItemId, Merge, NewPull};
use insta::assert_snapshot;
use project::{HeadLookup, Place, Workspace, quick_head};
use testkit::{Said, Sandbox, terminal::Terminal};

use super::{json, sandbox};
use crate::support::{Ends as _, InProject as _, dirs};

/// What a person sees: the output, then notes and errors, then the exit code unless it is 0.
fn seen(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let Said { code, out, err } = sandbox.warp(arguments);
    let code = code.filter(|code| *code != 0).map(|code| format!("exit {code}\n")).unwrap_or_default();
    format!("{out}{err}{code}")
}

const BODY: &str = "One place reads names.\n\n- [ ] reads quoted names\n- [x] reads plain names\n";

#[test]
fn several_issues_are_approved_at_once() {
    let sandbox = sandbox();
    for title in ["One", "Two", "Three"] {
        sandbox.warp_ok(&["issue", "new", "--title", title, "--body", "- [ ] it is there\n"]);
    }
    let said = sandbox.warp_ok(&["issue", "approve", "1", "#3"]);
    assert_eq!(said, "#1 is approved by Test: ready\n#3 is approved by Test: ready\n");
    let listed = sandbox.warp_ok(&["issue", "list"]);
    assert!(listed.contains("#2  not approved"), "{listed}");
    sandbox.warp(&["issue", "approve"]).ends(64);
    assert_eq!(sandbox.warp(&["issue", "approve", "2", "9"]).code, Some(3), "there is no 9");
}

#[test]
fn an_issue_is_filed_approved_shown_and_closed() {
    let sandbox = sandbox();
    assert_snapshot!(seen(&sandbox, &["issue", "list"]), @"
    No open issues
    note: `warp issue new --title TEXT --body-file FILE` files one
    ");
    assert_snapshot!(seen(&sandbox, &["issue", "new", "--title", "Read names", "--body", BODY, "--label", "p2-high"]), @"
    #1 Read names
    note: `warp issue approve 1` lets it be worked on
    ");
    assert_snapshot!(seen(&sandbox, &["issue", "new", "--title", "Think about names"]), @"
    #2 Think about names
    note: #2 has no `- [ ]` criteria: `warp run 2` has the agent propose some and asks you about them; `warp issue edit 2 --body-file FILE` adds your own
    ");
    sandbox.write("body.md", "- [ ] prints names\n\n## Blocked by\n- #1\n");
    assert_snapshot!(seen(&sandbox, &["issue", "new", "--title", "Print names", "--body-file", "body.md", "--approve"]), @"#3 Print names");
    assert_snapshot!(seen(&sandbox, &["issue", "list"]), @"
    #1  not approved   1/2          Read names         p2-high, req
    #2  open           no criteria  Think about names
    #3  blocked by #1  0/1          Print names        approved, req

    3 open
    ");
    assert_snapshot!(seen(&sandbox, &["issue", "approve", "#1"]), @"#1 is approved by Test: ready");
    assert_snapshot!(seen(&sandbox, &["issue", "comment", "1", "Names are short.\nMostly."]), @"#1 has your comment");
    assert_snapshot!(seen(&sandbox, &["issue", "label", "1", "--add", "names", "--remove", "p2-high"]), @"#1 is labelled approved, names, req");
    assert_snapshot!(seen(&sandbox, &["issue", "edit", "1", "--title", "Read all names"]), @"#1 Read all names");
    assert_snapshot!(seen(&sandbox, &["issue", "show", "1"]), @"
    #1 Read all names
    open, ready
    labels: approved, names, req
    opened by Test at [TIME], approved by Test

    One place reads names.

    - [ ] reads quoted names
    - [x] reads plain names

    -- Test at [TIME]
    Names are short.
    Mostly.
    ");
    assert_snapshot!(seen(&sandbox, &["issue", "close", "1", "--reason", "not needed"]), @"#1 is closed");
    assert_snapshot!(seen(&sandbox, &["issue", "list", "--label", "req"]), @"
    #3  ready  0/1  Print names  approved, req

    1 open, 1 closed (`warp issue list --state closed`)
    ");
    assert_snapshot!(seen(&sandbox, &["issue", "list", "--state", "all"]), @"
    #1  closed  1/2          Read all names     approved, names, req
    #2  open    no criteria  Think about names
    #3  ready   0/1          Print names        approved, req

    3 shown
    ");
    assert_snapshot!(seen(&sandbox, &["issue", "show", "1"]).lines().nth(1).unwrap(), @"closed (not needed)");
    assert_snapshot!(seen(&sandbox, &["issue", "reopen", "1"]), @"#1 is open");
    sandbox.warp_ok(&["issue", "new", "--title", "Names", "--label", "cap", "--body", "- [ ] #1 Read names"]);
    assert!(sandbox.warp_ok(&["issue", "list"]).contains("#4  open"), "a capability is no requirement");
    sandbox.warp_ok(&["doctor"]);
    assert_eq!(sandbox.warp(&["status"]).code, Some(2), "an issue is no run");
}

#[test]
fn issues_stay_when_their_directory_becomes_a_repository() {
    let sandbox = sandbox();
    let plain = sandbox.home().join("plain");
    // As `warp init` leaves it.
    fs::create_dir_all(plain.join(".warp/local")).unwrap();
    let at = plain.to_str().unwrap();
    sandbox.warp_ok(&["-C", at, "issue", "new", "--title", "Read names"]);
    sandbox.git(&["-C", at, "init", "--quiet"]);
    sandbox.git(&["-C", at, "add", "--all"]);
    assert_eq!(sandbox.git(&["-C", at, "status", "--porcelain"]), "", "what is warp's own is in no commit");
    assert_eq!(quick_head(&plain), HeadLookup::Unsure, "a hook asks the store, and is not waved through");
    insta::assert_snapshot!(sandbox.seen(&["-C", at, "issue", "list"]), @"
    #1  open  no criteria  Read names

    1 open
    ");
    assert!(plain.join(".git/warp/project-id").exists() && !plain.join(".warp/local").exists());
    sandbox.warp_ok(&["-C", at, "issue", "new", "--title", "Print names"]);
    assert!(sandbox.warp_ok(&["-C", at, "issue", "list"]).contains("2 open"));
}

#[test]
fn the_issues_of_a_directory_are_found_beside_what_its_repository_has_already() {
    let sandbox = sandbox();
    let plain = sandbox.home().join("plain");
    // As `warp init` leaves it.
    fs::create_dir_all(plain.join(".warp/local")).unwrap();
    let at = plain.to_str().unwrap();
    sandbox.warp_ok(&["-C", at, "issue", "new", "--title", "Read names"]);
    sandbox.git(&["-C", at, "init", "--quiet"]);
    fs::create_dir(plain.join(".git/warp")).unwrap();
    fs::write(plain.join(".git/warp/lock"), "").unwrap();
    insta::assert_snapshot!(sandbox.seen(&["-C", at, "issue", "list"]), @"
    #1  open  no criteria  Read names

    1 open
    ");
    assert!(plain.join(".git/warp/project-id").exists());
    sandbox.git(&["-C", at, "add", "--all"]);
    assert_eq!(sandbox.git(&["-C", at, "status", "--porcelain"]), "");
}

#[test]
fn a_project_that_came_with_a_repository_is_not_taken_for_this_one() {
    let sandbox = sandbox();
    let id = fs::read_to_string(sandbox.root().join(".git/warp/project-id"));
    assert!(id.is_err(), "it has none yet");
    sandbox.write(".warp/local/project-id", "0123456789abcdefghij\n");
    sandbox.git(&["add", "--all"]);
    sandbox.warp_ok(&["issue", "new", "--title", "Read names"]);
    assert_ne!(sandbox.read(".git/warp/project-id").unwrap(), "0123456789abcdefghij\n");
    assert!(sandbox.read(".warp/local/project-id").is_some());
}

#[test]
fn an_issue_is_shown_to_machines() {
    let sandbox = sandbox();
    sandbox.warp_ok(&[
        "issue",
        "new",
        "--title",
        "Names",
        "--body",
        "- [x] one\n- [ ] two\n\nDepends on #9",
        "--approve",
    ]);
    let shown = json(&sandbox.warp_ok(&["issue", "show", "1", "--json"]));
    assert_eq!(shown["criteria"][1], serde_json::json!({ "id": "AC-02", "ticked": false, "text": "two" }));
    assert_eq!(shown["readiness"], "blocked by #9");
    assert_eq!(shown["approved_by"], "Test");
    assert_eq!(shown["depends_on"], serde_json::json!([9]));
    assert_eq!(shown["labels"], serde_json::json!(["approved", "req"]));
    assert_eq!(json(&sandbox.warp_ok(&["issue", "list", "--json"])), serde_json::json!([shown]));
    assert_eq!(sandbox.warp_ok(&["pr", "list", "--json"]), "[]\n");
}

#[test]
fn a_file_is_one_issue_however_often_it_is_imported() {
    let sandbox = sandbox();
    sandbox.write("issues/42.md", "# Read names\n\n- [ ] quoted\n- [ ] plain\n");
    sandbox.write("other/42.md", "# Print names\n");
    sandbox.write("notes.md", "# Think\n");
    assert_snapshot!(seen(&sandbox, &["issue", "import", "issues/42.md", "other/42.md", "notes.md"]), @"
    #42 Read names is filed from issues/42.md
    #43 Print names is filed from other/42.md
    #44 Think is filed from notes.md
    note: #43 has no `- [ ]` criteria: `warp run 43` has the agent propose some and asks you about them; `warp issue edit 43 --body-file FILE` adds your own
    note: #44 has no `- [ ]` criteria: `warp run 44` has the agent propose some and asks you about them; `warp issue edit 44 --body-file FILE` adds your own
    ");
    let tick = Workspace::open(Place::at(&sandbox.root()).unwrap(), dirs(&sandbox)).unwrap();
    tick.tracker().tick(ItemId::from(42), &["AC-01".to_owned()]).unwrap();
    sandbox.write("issues/42.md", "# Read all names\n\n- [ ] long\n- [ ] quoted\n- [ ] plain\n");
    assert_snapshot!(seen(&sandbox, &["issue", "import", "--approve", "issues/42.md"]), @"#42 Read all names is up to date with issues/42.md");
    assert_snapshot!(seen(&sandbox, &["issue", "show", "42"]), @"
    #42 Read all names
    open, ready
    labels: approved, req
    opened by Test at [TIME], approved by Test

    - [ ] long
    - [x] quoted
    - [ ] plain
    ");
    assert_snapshot!(seen(&sandbox, &["issue", "import", "--number", "7", "issues/42.md"]), @"
    error: `issues/42.md` was imported as #42
    hint: without `--number` #42 is brought up to date
    exit 3
    ");
    assert_snapshot!(seen(&sandbox, &["issue", "import", "--number", "42", "../demo/Cargo.md"]), @"
    error: `../demo/Cargo.md` cannot be read: No such file or directory (os error 2)
    exit 65
    ");
    sandbox.write("none.md", "no title\n");
    assert_snapshot!(seen(&sandbox, &["issue", "import", "none.md"]), @"
    error: the file `none.md` has no `# ` heading for a title
    exit 64
    ");
    sandbox.write("seven.md", "# Seven\n");
    assert_snapshot!(seen(&sandbox, &["issue", "import", "--number", "42", "seven.md"]), @"
    error: #42 is there already
    hint: `warp issue show 42` shows it; without `--number` the next one is given
    exit 3
    ");
    assert_snapshot!(seen(&sandbox, &["issue", "import", "--number", "7", "seven.md"]), @"
    #7 Seven is filed from seven.md
    note: #7 has no `- [ ]` criteria: `warp run 7` has the agent propose some and asks you about them; `warp issue edit 7 --body-file FILE` adds your own
    ");
}

#[test]
fn an_issue_that_is_given_criteria_becomes_a_requirement() {
    let sandbox = sandbox();
    sandbox.warp_ok(&["issue", "new", "--title", "Read names", "--approve"]);
    sandbox.write("body.md", "1. [] quoted\n");
    assert_snapshot!(seen(&sandbox, &["issue", "edit", "1", "--body-file", "body.md"]), @"#1 Read names");
    assert_snapshot!(seen(&sandbox, &["issue", "list"]), @"
    #1  ready  0/1  Read names  approved, req

    1 open
    ");
}

#[test]
fn what_cannot_be_done_is_said_with_what_can() {
    let sandbox = sandbox();
    assert_snapshot!(seen(&sandbox, &["issue", "show", "7"]), @"
    error: there is no issue or pull request #7
    hint: `warp issue list` and `warp pr list` show what there is
    exit 3
    ");
    assert_snapshot!(seen(&sandbox, &["issue", "approve", "7"]), @"
    error: there is no issue or pull request #7
    hint: `warp issue list` and `warp pr list` show what there is
    exit 3
    ");
    assert_snapshot!(seen(&sandbox, &["issue", "new", "--title", " "]), @"
    error: the title is empty
    exit 64
    ");
    sandbox.warp_ok(&["issue", "new", "--title", "One"]);
    assert_snapshot!(seen(&sandbox, &["pr", "approve", "1"]), @"
    error: #1 is an issue, and has no pull request
    hint: `warp explain 1` says where it is
    exit 3
    ");
    assert_snapshot!(seen(&sandbox, &["pr", "show", "1"]), @"
    error: #1 is an issue, and has no pull request
    hint: `warp explain 1` says where it is
    exit 3
    ");
    for wrong in [
        &["issue", "show", "x"][..],
        &["issue", "show", "0"],
        &["issue", "edit", "1"],
        &["issue", "label", "1"],
    ] {
        assert_eq!(sandbox.warp(wrong).code, Some(64), "{wrong:?}");
    }
}

#[test]
fn an_agent_may_look_and_changes_nothing_that_is_there() {
    let sandbox = sandbox();
    sandbox.warp_ok(&["issue", "new", "--title", "One", "--body", "- [ ] one"]);
    for looks in [&["issue", "list"][..], &["issue", "show", "1"], &["pr", "list"]] {
        assert_eq!(sandbox.as_agent(looks).code, Some(0), "{looks:?}");
    }
    for writes in [
        &["issue", "new", "--title", "Two", "--approve"][..],
        &["issue", "edit", "1", "--title", "Two"],
        &["issue", "comment", "1", "x"],
        &["issue", "label", "1", "--add", "approved"],
        &["issue", "approve", "1"],
        &["issue", "close", "1"],
        &["issue", "reopen", "1"],
        &["issue", "import", "x.md"],
        &["pr", "approve", "1"],
        &["pr", "request-changes", "1", "x"],
        &["pr", "close", "1"],
    ] {
        assert_eq!(sandbox.as_agent(writes).code, Some(2), "{writes:?}");
    }
    insta::assert_snapshot!(sandbox.seen(&["issue", "list"]), @"
    #1  not approved  0/1  One  req

    1 open
    ");
}

#[test]
fn a_pull_request_is_shown_and_reviewed() {
    let sandbox = sandbox();
    sandbox.warp_ok(&["issue", "new", "--title", "Read names"]);
    let workspace = Workspace::open(Place::at(&sandbox.root()).unwrap(), dirs(&sandbox)).unwrap();
    let pull = |branch: &str| NewPull {
        title: "Read names".to_owned(),
        body: "Three commits.".to_owned(),
        branch: branch.to_owned(),
        target: "main".to_owned(),
        head: "97165b483c".to_owned(),
        issue: Some(ItemId::from(1)),
        run: None,
    };
    workspace.forge().ensure_pull(&pull("feature/a"), "a").unwrap();
    workspace.forge().ensure_pull(&pull("feature/b"), "b").unwrap();
    assert_snapshot!(seen(&sandbox, &["pr", "list"]), @"
    #2  waits for review  feature/a -> main  Read names  for #1
    #3  waits for review  feature/b -> main  Read names  for #1

    2 open
    ");
    assert_snapshot!(seen(&sandbox, &["pr", "request-changes", "2", "A test is missing"]), @"#2 wants changes; `warp run 1` makes them");
    assert_snapshot!(seen(&sandbox, &["pr", "show", "2"]), @"
    #2 Read names
    changes requested
    feature/a -> main at 97165b483c, for #1
    cost: nothing metered
    opened by warp at [TIME]

    Three commits.

    -- Test at [TIME]
    A test is missing
    ");
    assert_snapshot!(seen(&sandbox, &["pr", "approve", "2"]), @"#2 is approved");
    assert_snapshot!(seen(&sandbox, &["pr", "close", "3", "--reason", "twice"]), @"#3 is closed; its branch stays");
    let merge = Merge { head: "97165b483c", landed: Some("1234567890") };
    workspace.forge().merge(ItemId::from(2), &merge).unwrap();
    assert_snapshot!(seen(&sandbox, &["pr", "list"]), @"No open pull requests, 2 closed (`warp pr list --state closed`)");
    assert_snapshot!(seen(&sandbox, &["pr", "list", "--state", "closed"]), @"
    #2  merged  feature/a -> main  Read names  for #1
    #3  closed  feature/b -> main  Read names  for #1

    2 shown
    ");
    assert_snapshot!(seen(&sandbox, &["issue", "approve", "2"]), @"
    error: #2 is a pull request
    hint: `warp pr show 2` shows it; `warp pr approve 2` approves it
    exit 3
    ");
    assert_snapshot!(seen(&sandbox, &["issue", "list"]), @"
    #1  open  no criteria  Read names

    1 open
    ");
}

#[test]
fn an_issue_that_somebody_has_is_not_said_to_be_ready() {
    let sandbox = sandbox();
    sandbox.issue(42, "# Names\n\n- [ ] reads names\n");
    assert_snapshot!(seen(&sandbox, &["issue", "list"]).lines().next().unwrap(), @"#42  ready  0/1  Names  approved, req");
    sandbox.warp_ok(&["state", "init", ".", "--level", "2", "--issue", "42"]);
    let run = json(&sandbox.warp_ok(&["status", "--json"]))["run"].as_str().unwrap().to_owned();
    let plain = |arguments: &[&str]| seen(&sandbox, arguments).replace(&run, "[RUN]");
    assert_snapshot!(plain(&["issue", "list"]).lines().next().unwrap(), @"#42  run [RUN] has it, in prerequisites  0/1  Names  approved, req");
    assert_snapshot!(plain(&["issue", "show", "42"]).lines().nth(1).unwrap(), @"open, run [RUN] has it, in prerequisites");
    sandbox.warp_ok(&["state", "reset", "."]);
    let workspace = Workspace::open(Place::at(&sandbox.root()).unwrap(), dirs(&sandbox)).unwrap();
    let pull = NewPull {
        title: "Names".to_owned(),
        body: String::new(),
        branch: "feature/names".to_owned(),
        target: "main".to_owned(),
        head: "0".repeat(40),
        issue: Some(ItemId::from(42)),
        run: None,
    };
    workspace.forge().ensure_pull(&pull, "pull").unwrap();
    assert_snapshot!(plain(&["issue", "list"]).lines().next().unwrap(), @"#42  ready for review as pull request #43  0/1  Names  approved, req");
    let shown = json(&sandbox.warp_ok(&["issue", "show", "42", "--json"]));
    assert_eq!(
        (&shown["readiness"], &shown["taken"]),
        (&"ready".into(), &"ready for review as pull request #43".into())
    );
}

#[test]
fn an_issue_makes_no_project_of_a_directory_that_is_none() {
    let sandbox = sandbox();
    let elsewhere = sandbox.home().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let at = elsewhere.to_str().unwrap();
    fs::write(elsewhere.join("one.md"), "# One\n").unwrap();
    let file = elsewhere.join("one.md");
    for command in [&["issue", "new", "--title", "One"][..], &["issue", "import", file.to_str().unwrap()]] {
        let refused = sandbox.warp(&[&["-C", at], command].concat()).ends(3);
        assert!(refused.err.contains("is in no git repository, and no project of warp's"), "{refused:?}");
        assert!(refused.err.contains("`git init` makes this one"), "{refused:?}");
    }
    assert!(!elsewhere.join(".warp").exists());
    sandbox.warp(&["-C", at, "issue", "list"]).ends(0);
    assert!(!elsewhere.join(".warp").exists());
}

#[test]
fn an_agent_files_issues_and_approves_none() {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    let new = ["issue", "new", "--title", "Read names", "--body", "- [ ] names are read"];
    let said = sandbox.as_agent(&new).all();
    assert!(
        said.contains("#1 Read names") && said.contains("`warp issue approve 1` lets it be worked on"),
        "{said}"
    );
    sandbox.as_agent(&[&new[..], &["--label", "approved"]].concat()).ends(0);
    let listed = sandbox.warp_ok(&["issue", "list"]);
    assert_eq!(listed.matches("not approved").count(), 2, "{listed}");
    assert!(sandbox.warp_ok(&["issue", "show", "1"]).contains("opened by agent"));
}

#[test]
fn at_a_terminal_the_persons_editor_writes_an_issue() {
    if Terminal::is_skipped() {
        return;
    }
    let sandbox = sandbox();
    // An editor that puts another text in the place of the one it is given.
    let editor = sandbox.program(sandbox.home().join("editor"), "#!/bin/sh\ncp \"$HOME/text.md\" \"$1\"\n");
    let edits = |text: &str, arguments: &[&str], says: &str| {
        fs::write(sandbox.home().join("text.md"), text).unwrap();
        // A terminal whose program is over loses its first line.
        let mut command = sandbox.command("sh");
        command.args(["-c", "\"$@\"; exec cat", "sh", env!("CARGO_BIN_EXE_warp")]).args(arguments);
        command.env_remove("VISUAL").env("EDITOR", &editor).env("TMPDIR", sandbox.home());
        Terminal::start(&command, (100, 20)).wait_for(says);
    };
    edits("", &["issue", "new"], "no issue is filed");
    assert!(sandbox.warp_ok(&["issue", "list"]).contains("No open issues"));
    edits("# A parser\n\n- [ ] reads lines\n", &["issue", "new"], "#1 A parser");
    edits("# A parser\n\n- [ ] reads lines\n", &["issue", "edit", "1"], "#1 stays as it is");
    edits("# Parser\n\n- [ ] reads words\n", &["issue", "edit", "1"], "#1 Parser");
    assert!(sandbox.warp_ok(&["issue", "show", "1"]).contains("reads words"));
    edits("no heading\n", &["issue", "edit", "1"], "what you wrote is in");
    // Without a terminal nothing waits for an editor.
    sandbox.warp(&["issue", "edit", "1"]).ends(64);
    sandbox.warp(&["issue", "new"]).ends(64);
}
