//! Whoever sits at the terminal is asked to go on while there is something to go on with, and every issue has a branch and
//! an account of its own.

use std::sync::Arc;

use adapters::git::Git;
use driver::{Finish, Options, Reply, Show, Shown};
use engine::view::Asked;
use forge::Query;
use project::Place;

use crate::world::{World, drive, git, player, project, turn, with_each};

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

fn inside(world: &World, level: u64) {
    let root = world.root();
    world.file_issues(&root, ISSUES.len() as u64);
    let agent = Arc::new(player(&ISSUES.map(turn).concat()));
    let options = Options { issue: Some("1".to_owned()), level: Some(level), ..Options::default() };
    let mut eager = Eager::default();
    let finish = drive(&Place::at(&root).unwrap(), &world.dirs, options, agent, &mut eager);
    assert_eq!(finish.unwrap(), Finish::Done);
    assert_eq!(eager.asked, ["Continue to next task?"], "once: after the second there is none");
    let mut workspace = world.workspace(&root);
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
        let (stat, _) = Git::new(&root).change_between(base, tip, &["--name-only"]).unwrap();
        assert_eq!(stat.trim(), format!("file{issue}.txt"));
    }
}

#[test]
fn a_person_is_asked_to_go_on_only_while_another_issue_is_ready() {
    let test = "going_on::a_person_is_asked_to_go_on_only_while_another_issue_is_ready";
    with_each(test, || project(""), |world| inside(&world, 2));
}

#[test]
fn two_issues_of_one_run_are_merged_each_by_itself() {
    let test = "going_on::two_issues_of_one_run_are_merged_each_by_itself";
    with_each(
        test,
        || project(""),
        |world| {
            inside(&world, 3);
            let log = git(&world.root(), &["log", "-2", "--reverse", "--format=%s", "main"]);
            assert_eq!(log, "feat: Word 1 (AC-01)\nfeat: Word 2 (AC-01)");
        },
    );
}
