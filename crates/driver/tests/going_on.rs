//! Whoever sits at the terminal is asked to go on while there is something to go on with, and every issue has a branch and
//! an account of its own.
//!
//! The run reads the home and git's settings from its environment, so the test starts itself again in its sandbox.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::{env, path::PathBuf, process::Stdio, sync::Arc};

use adapters::{
    agent::script::{Player, Reply as Played, Script},
    git::Git,
};
use driver::{Driver, Finish, Interrupts, Options, Reply, Show, Shown};
use engine::view::Asked;
use forge::{By, NewItem, Query};
use project::{Dirs, Place, Workspace};
use testkit::Sandbox;

/// Set where the run is, to its level.
const INSIDE: &str = "WARP_TEST_INSIDE";
const ISSUES: [u64; 2] = [1, 2];

/// Somebody who wants all of it.
#[derive(Default)]
struct Eager {
    asked: Vec<String>,
}

impl Show for Eager {
    fn show(&mut self, shown: Shown<'_>) {
        if let Shown::Asked(asked) = shown {
            self.asked.push(asked.question.clone());
        }
    }

    fn reply(&mut self, _asked: &Asked) -> Option<Reply> {
        Some(Reply { option: "yes".to_owned(), note: None })
    }

    fn is_attended(&self) -> bool {
        true
    }
}

fn inside(level: u64) {
    let turn = |issue: u64| {
        format!(
            "[[turn]]\nphase = \"coding\"\nissue = {issue}\nsteps = [{{ write = \"file{issue}.txt\", text = \"word{issue}\\n\" }}]\n\
             answer = {{ summary = \"done\", evidence = [{{ ac = \"AC-01\", file = \"file{issue}.txt\", line = 1 }}] }}\n"
        )
    };
    let script: String = ISSUES.map(turn).concat();
    let player = Player::new(Script::parse(&script).unwrap(), Box::new(|_, _| Played::default()));
    let place = Place::at(&PathBuf::from(env::var_os("HOME").unwrap()).join("demo")).unwrap();
    let dirs = Dirs::from_environment().unwrap();
    let options = Options { issue: Some("1".to_owned()), level: Some(level), ..Options::default() };
    let mut eager = Eager::default();
    let mut driver =
        Driver::start_with(Arc::new(player), &place, &dirs, options, Interrupts::default(), &mut eager)
            .unwrap();
    assert_eq!(driver.drive().unwrap(), Finish::Done);
    driver.finish().unwrap();
    assert_eq!(eager.asked, ["Continue to next task?"], "once: after the second there is none");
    let mut workspace = Workspace::open(place, dirs).unwrap();
    let pulls = workspace.forge().pulls(Query::Open).unwrap();
    assert_eq!(pulls.len(), if level == 2 { ISSUES.len() } else { 0 });
    let stints = ISSUES.map(|issue| workspace.account(issue.into()).unwrap().stints);
    let [[one], [two]] = stints.each_ref().map(Vec::as_slice) else { panic!("{stints:?}") };
    assert_eq!(one.run, two.run);
    assert_eq!([&one.branch, &two.branch], ["feature/issue-1-word-1", "feature/issue-2-word-2"]);
    assert_eq!([one.commits.len(), two.commits.len()], [1, 1]);
    assert!(one.events.end == two.events.start, "{one:?}, {two:?}");
    for issue in ISSUES {
        let ranges = workspace.account(issue.into()).unwrap().ranges();
        let [(base, tip)] = ranges.as_slice() else { panic!("{ranges:?}") };
        let git = Git::new(&workspace.place.root);
        let (stat, _) = git.change_between(base, tip, &["--name-only"]).unwrap();
        assert_eq!(stat.trim(), format!("file{issue}.txt"));
    }
}

/// Runs the test again in a sandbox.
fn run_inside(test: &str, level: &str) -> Sandbox {
    let sandbox = Sandbox::new("warp");
    sandbox.git(&["switch", "--quiet", "main"]);
    sandbox.write("test.sh", "true\n");
    sandbox.write("warp.toml", "[workflow]\ntest_command = \"sh test.sh\"\n");
    sandbox.git(&["add", "--all"]);
    sandbox.git(&["commit", "--quiet", "-m", "chore: tests"]);
    file_issues(&sandbox);
    let mut command = sandbox.command(env::current_exe().unwrap());
    command.env(INSIDE, level).args(["--exact", test, "--nocapture"]).stdin(Stdio::null());
    let output = command.output().unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    sandbox
}

#[test]
fn a_person_is_asked_to_go_on_only_while_another_issue_is_ready() {
    if env::var_os(INSIDE).is_some() {
        return inside(2);
    }
    run_inside("a_person_is_asked_to_go_on_only_while_another_issue_is_ready", "2");
}

#[test]
fn two_issues_of_one_run_are_merged_each_by_itself() {
    if env::var_os(INSIDE).is_some() {
        return inside(3);
    }
    let sandbox = run_inside("two_issues_of_one_run_are_merged_each_by_itself", "3");
    let log = sandbox.git(&["log", "-2", "--reverse", "--format=%s", "main"]);
    assert_eq!(log, "feat: Word 1 (AC-01)\nfeat: Word 2 (AC-01)");
}

fn file_issues(sandbox: &Sandbox) {
    let place = Place::at(&sandbox.root()).unwrap();
    let home = sandbox.home().canonicalize().unwrap();
    let dirs = Dirs::new(home.join("state/warp"), home.join("config/warp"));
    let workspace = Workspace::open(place, dirs).unwrap();
    let tracker = workspace.tracker_as(By::person("Ann"));
    for issue in ISSUES {
        let body = format!("- [ ] the word word{issue} is in file{issue}.txt\n");
        let filed =
            tracker.file(&NewItem::of(format!("Word {issue}"), body, Default::default()), None).unwrap();
        tracker.approve(filed.id).unwrap();
    }
}
