//! The embedded forge, in a real store: numbers, markers, folding, and what can be taken.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    collections::BTreeSet,
    sync::{Arc, Barrier},
    thread,
};

use journal::{NewEvent, Query, Scope, Store, View};
use project::{
    By, Dirs, Edit, Filed, Forge, ForgeError, Item, ItemState, NewItem, NewPull, Place, Priority, Readiness,
    Review, Workspace,
};
use testkit::Sandbox;

fn open(sandbox: &Sandbox) -> Workspace {
    let dirs = Dirs::new(sandbox.home().join("state"), sandbox.home().join("config"));
    Workspace::open(Place::at(&sandbox.root()).unwrap(), dirs).unwrap()
}

fn project() -> (Sandbox, Workspace) {
    let sandbox = Sandbox::new("warp");
    let workspace = open(&sandbox);
    (sandbox, workspace)
}

fn ada(workspace: &mut Workspace) -> Forge<'_> {
    workspace.forge().by(By::person("Ada"))
}

fn issue(title: &str, body: &str, labels: &[&str]) -> NewItem {
    let labels = labels.iter().map(|label| (*label).to_owned()).collect();
    NewItem { title: title.to_owned(), body: body.to_owned(), labels, number: None }
}

fn titled(title: &str) -> NewItem {
    issue(title, "", &[])
}

fn pull(branch: &str) -> NewPull {
    NewPull {
        title: "Add a parser".to_owned(),
        body: String::new(),
        branch: branch.to_owned(),
        target: "main".to_owned(),
        head: "97165b483c".to_owned(),
        issue: Some(1),
    }
}

fn titles(forge: &mut Forge<'_>) -> Vec<String> {
    forge.open_items().unwrap().iter().map(|item| item.title.clone()).collect()
}

fn journal(workspace: &Workspace) -> Arc<dyn Store> {
    workspace.dirs.stores.open(workspace.store_path().unwrap().unwrap()).unwrap()
}

/// Takes the snapshots away, as a repair may have to.
fn forget_snapshots(workspace: &Workspace) {
    // Only an append replaces a snapshot, so something is appended that changes nothing.
    let nothing =
        r#"{"format":1,"by":{"actor":"engine","name":"warp"},"event":"labelled","added":[],"removed":[]}"#;
    let store = journal(workspace);
    for view in store.views(Query::Names("item:")).unwrap() {
        let event = NewEvent { at: view.updated_at, kind: "labelled".to_owned(), body: nothing.into() };
        let (mark, topic) = (view.mark.as_deref(), view.topic.as_deref());
        store.append(&view.stream, &view.version, &[event], View { snapshot: b"", mark, topic }).unwrap();
    }
}

#[test]
fn issues_and_pull_requests_share_their_numbers() {
    let (_sandbox, mut workspace) = project();
    let mut forge = ada(&mut workspace);
    assert_eq!(forge.all_items().unwrap(), []);
    assert_eq!(forge.item(1).unwrap(), None);
    assert_eq!(forge.file(titled("One"), None).unwrap(), Filed { number: 1, was_there: false });
    assert_eq!(forge.open_pull(pull("feature/a"), None).unwrap(), Filed { number: 2, was_there: false });
    let imported = NewItem { number: Some(42), ..titled("From a file") };
    assert_eq!(forge.file(imported.clone(), None).unwrap().number, 42);
    assert!(matches!(forge.file(imported, None), Err(ForgeError::Taken { number: 42 })));
    assert_eq!(forge.file(titled("After the highest"), None).unwrap().number, 43);
    let numbers: Vec<u64> = forge.open_items().unwrap().iter().map(|item| item.number).collect();
    assert_eq!(numbers, [1, 2, 42, 43]);
    assert!(matches!(
        forge.file(NewItem { number: Some(0), ..titled("Zero") }, None),
        Err(ForgeError::Number { .. })
    ));
}

#[test]
fn many_writers_leave_no_gap_and_no_double() {
    let (sandbox, mut workspace) = project();
    workspace.forge().file(titled("The first"), None).unwrap();
    let barrier = Barrier::new(4);
    let numbers: Vec<u64> = thread::scope(|scope| {
        let writer = |name: usize| {
            let (sandbox, barrier) = (&sandbox, &barrier);
            scope.spawn(move || {
                let mut workspace = open(sandbox);
                barrier.wait();
                let file = |number: usize| {
                    let filed = workspace.forge().file(titled(&format!("{name} {number}")), None).unwrap();
                    filed.number
                };
                (0..25).map(file).collect::<Vec<u64>>()
            })
        };
        let writers: Vec<_> = (0..4).map(writer).collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    let all: BTreeSet<u64> = numbers.iter().copied().collect();
    assert_eq!(all, (2..=101).collect::<BTreeSet<u64>>());
    assert_eq!(numbers.len(), 100);
}

#[test]
fn two_writers_with_one_marker_file_once() {
    for round in 0..10 {
        let (sandbox, _) = project();
        let barrier = Barrier::new(2);
        let filed: Vec<Filed> = thread::scope(|scope| {
            let writer = |_| {
                let (sandbox, barrier) = (&sandbox, &barrier);
                scope.spawn(move || {
                    let mut workspace = open(sandbox);
                    barrier.wait();
                    workspace.forge().file(titled("Report"), Some("run-a/chunk-1")).unwrap()
                })
            };
            let writers: Vec<_> = (0..2).map(writer).collect();
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        assert_eq!((filed[0].number, filed[1].number), (1, 1), "{round}");
        assert_eq!(filed.iter().filter(|filed| filed.was_there).count(), 1, "{round}");
        let mut workspace = open(&sandbox);
        assert_eq!(workspace.forge().all_items().unwrap().len(), 1, "{round}");
    }
}

#[test]
#[cfg(debug_assertions)]
fn a_crash_before_or_after_an_act_repeats_nothing() {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use adapters::boundary;

    let (sandbox, _) = project();
    let points = ["issue_opened", "commented", "ticked", "closed"]
        .map(|name| ["before", "after"].map(|side| format!("{side} {name}")));
    for point in points.into_iter().flatten() {
        let crash = point.clone();
        boundary::watch(move |at| assert_ne!(at, crash, "the test stops here"));
        let act = |workspace: &mut Workspace| {
            let mut forge = workspace.forge();
            let number = forge.file(issue(&point, "- [ ] one", &[]), Some(&point)).unwrap().number;
            forge.comment(number, "done", Some("report")).unwrap();
            forge.tick(number, &["AC-01".to_owned()]).unwrap();
            forge.close(number, None).unwrap();
        };
        let crashed = catch_unwind(AssertUnwindSafe(|| act(&mut open(&sandbox))));
        assert!(crashed.is_err(), "{point} was passed");
        boundary::unwatch();
        act(&mut open(&sandbox));
    }
    let items = open(&sandbox).forge().all_items().unwrap();
    assert_eq!(items.len(), 8, "each was filed once");
    for item in items {
        assert_eq!((item.comments.len(), item.boxes().checked()), (1, 1), "{}", item.title);
    }
    let events = journal(&open(&sandbox)).read(Scope::Store, 0, 100).unwrap();
    assert_eq!(events.len(), 8 * 4, "nothing was recorded twice");
}

#[test]
fn a_marker_holds_however_often_the_item_changes() {
    let (_sandbox, mut workspace) = project();
    let mut forge = workspace.forge();
    let first = forge.file(titled("Report"), Some("key")).unwrap();
    forge.comment(1, "seen", Some("c")).unwrap();
    forge.comment(1, "seen", Some("c")).unwrap();
    forge.comment(1, "seen", None).unwrap();
    forge.close(1, Some("done")).unwrap();
    assert_eq!(forge.filed("key").unwrap(), Some(first.number));
    assert_eq!(forge.file(titled("Another"), Some("key")).unwrap(), Filed { number: 1, was_there: true });
    let item = forge.item(1).unwrap().unwrap();
    assert_eq!((item.title.as_str(), item.comments.len()), ("Report", 2));
    assert_eq!(item.closed_because.as_deref(), Some("done"));
    assert_eq!(forge.open_pull(pull("b"), Some("pull")).unwrap().number, 2);
    assert_eq!(forge.open_pull(pull("b"), Some("pull")).unwrap(), Filed { number: 2, was_there: true });
}

#[test]
fn ticking_again_changes_nothing() {
    let (_sandbox, mut workspace) = project();
    let body = "- [ ] one\n```\n- [ ] code\n```\n- [ ] two\n<!-- - [ ] hidden -->\n- [x] three\n";
    workspace.forge().file(issue("T", body, &[]), None).unwrap();
    let criteria = ["AC-02", "AC-03", "AC-07"].map(str::to_owned);
    assert_eq!(workspace.forge().tick(1, &criteria).unwrap(), 2);
    let ticked = workspace.forge().item(1).unwrap().unwrap();
    assert_eq!(ticked.body, body.replace("- [ ] two", "- [x] two"));
    assert_eq!(workspace.forge().tick(1, &criteria).unwrap(), 2);
    assert_eq!(workspace.forge().item(1).unwrap().unwrap(), ticked);
    let events = journal(&workspace).read(Scope::Store, 0, 100).unwrap();
    assert_eq!(events.iter().filter(|event| event.kind == "ticked").count(), 1);
    assert!(matches!(workspace.forge().tick(9, &criteria), Err(ForgeError::Missing { number: 9 })));
}

/// Does everything that can be done to items.
fn lead_a_life(workspace: &mut Workspace) {
    let mut forge = ada(workspace);
    forge.file(issue("A parser", "- [ ] reads\n- [ ] writes\n", &["req"]), Some("a")).unwrap();
    forge.edit(1, &Edit { title: Some("The parser".to_owned()), body: None }).unwrap();
    forge.edit(1, &Edit { title: None, body: Some("- [ ] reads\n- [ ] writes well\n".to_owned()) }).unwrap();
    forge.label(1, &["p1-critical", "x"], &[]).unwrap();
    forge.label(1, &["y"], &["x", "nothing"]).unwrap();
    forge.approve(1).unwrap();
    forge.assign(1, Some("run-a")).unwrap();
    forge.comment(1, "hello\nyou", None).unwrap();
    forge.tick(1, &["AC-02".to_owned()]).unwrap();
    forge.close(1, None).unwrap();
    forge.reopen(1).unwrap();
    workspace.forge().open_pull(pull("feature/a"), Some("p")).unwrap();
    let mut forge = ada(workspace);
    forge.review(2, Review::ChangesRequested, Some("a test is missing")).unwrap();
    forge.review(2, Review::Approved, None).unwrap();
    forge.merged(2, "1234567890").unwrap();
    forge.merged(2, "1234567890").unwrap();
}

#[test]
fn folding_the_events_gives_what_is_kept_beside_them() {
    let (_sandbox, mut workspace) = project();
    lead_a_life(&mut workspace);
    let kept = workspace.forge().all_items().unwrap();
    forget_snapshots(&workspace);
    assert_eq!(workspace.forge().all_items().unwrap(), kept);
    let [issue, pull] = <[Arc<Item>; 2]>::try_from(kept).unwrap();
    assert_eq!(issue.body, "- [ ] reads\n- [x] writes well\n");
    assert_eq!(issue.labels, ["approved", "p1-critical", "req", "y"].map(str::to_owned).into());
    assert_eq!(issue.approved_by.as_deref(), Some("Ada"));
    assert_eq!((issue.state, pull.state), (ItemState::Open, ItemState::Closed));
    let opened = pull.pull.as_ref().unwrap();
    assert_eq!((opened.review, opened.merged.as_deref()), (Review::Approved, Some("1234567890")));
    assert_eq!(pull.comments[0].text, "a test is missing");
    assert!(matches!(ada(&mut workspace).reopen(2), Err(ForgeError::Merged { number: 2 })));
    assert!(matches!(ada(&mut workspace).merged(1, "x"), Err(ForgeError::NotAPull { number: 1 })));
    // What comes after a lost snapshot makes it whole again.
    let edited = ada(&mut workspace).comment(1, "on it goes", None).unwrap();
    assert_eq!(workspace.forge().item(1).unwrap().unwrap(), edited);
    assert_eq!(workspace.forge().file(titled("again"), Some("a")).unwrap().number, 1);
}

#[test]
fn open_ones_are_listed_without_reading_closed_ones() {
    let (_sandbox, mut workspace) = project();
    let mut forge = workspace.forge();
    for number in 1..=5 {
        forge.file(titled(&format!("Report {number}")), None).unwrap();
        forge.close(number, None).unwrap();
    }
    forge.file(issue("Open", "", &["req"]), None).unwrap();
    // A closed one that cannot be read at all is nobody's business.
    let store = journal(&workspace);
    let view = store.views(Query::Topic("issues:closed")).unwrap().remove(0);
    let event = NewEvent { at: 1, kind: "x".to_owned(), body: b"no JSON".to_vec() };
    let beside = View { snapshot: b"", mark: None, topic: view.topic.as_deref() };
    store.append(&view.stream, &view.version, &[event], beside).unwrap();
    let mut forge = workspace.forge();
    assert_eq!(titles(&mut forge), ["Open"]);
    assert_eq!(forge.candidates().unwrap().len(), 1);
    assert_eq!((forge.closed_issues().unwrap(), forge.closed_pulls().unwrap()), (5, 0));
    assert!(matches!(forge.all_items(), Err(ForgeError::Event { seq: 2, .. })));
    assert_eq!(workspace.runs().unwrap().len(), 0, "items are no runs");
    assert!(workspace.select(None).unwrap().is_none());
}

#[test]
fn what_others_do_is_seen_by_whoever_has_looked_before() {
    let (sandbox, mut workspace) = project();
    for title in ["One", "Two", "Three"] {
        workspace.forge().file(titled(title), None).unwrap();
    }
    assert_eq!(titles(&mut workspace.forge()), ["One", "Two", "Three"]);
    let mut other = open(&sandbox);
    ada(&mut other).close(2, None).unwrap();
    let retitled = Edit { title: Some("The first".to_owned()), body: None };
    ada(&mut other).edit(1, &retitled).unwrap();
    other.forge().file(titled("Four"), None).unwrap();
    assert_eq!(titles(&mut workspace.forge()), ["The first", "Three", "Four"]);
    assert!(!workspace.forge().item(2).unwrap().unwrap().is_open());
    // A change is made of what is there by then.
    ada(&mut other).comment(3, "from afar", None).unwrap();
    let item = ada(&mut workspace).comment(3, "and from here", None).unwrap();
    let texts: Vec<&str> = item.comments.iter().map(|comment| comment.text.as_str()).collect();
    assert_eq!(texts, ["from afar", "and from here"]);
    assert_eq!(other.forge().item(3).unwrap().unwrap(), item);
    // So many are read at once.
    for number in 5..40 {
        other.forge().file(titled(&format!("Nr. {number}")), None).unwrap();
    }
    ada(&mut other).reopen(2).unwrap();
    let all = titles(&mut workspace.forge());
    assert_eq!((all.len(), all[1].as_str(), all.last().unwrap().as_str()), (39, "Two", "Nr. 39"));
}

#[test]
fn only_a_person_approves() {
    let (_sandbox, mut workspace) = project();
    let mut forge = workspace.forge();
    forge.file(issue("T", "- [ ] a", &["req", "approved"]), None).unwrap();
    assert!(matches!(forge.approve(1), Err(ForgeError::NotAPerson { .. })));
    assert_eq!(forge.readiness(1).unwrap(), Readiness::NotApproved, "a label by itself approves nothing");
    workspace.forge().by(By::agent("claude")).label(1, &["approved"], &[]).unwrap();
    assert_eq!(workspace.forge().readiness(1).unwrap(), Readiness::NotApproved);
    ada(&mut workspace).label(1, &["approved"], &[]).unwrap();
    assert_eq!(workspace.forge().item(1).unwrap().unwrap().approved_by.as_deref(), Some("Ada"));
    workspace.forge().by(By::person("Bob")).approve(1).unwrap();
    assert_eq!(workspace.forge().item(1).unwrap().unwrap().approved_by.as_deref(), Some("Ada"));
    assert_eq!(workspace.forge().readiness(1).unwrap(), Readiness::Ready);
    ada(&mut workspace).label(1, &[], &["approved"]).unwrap();
    assert_eq!(workspace.forge().readiness(1).unwrap(), Readiness::NotApproved);
}

#[test]
fn nobody_approves_a_pull_request_of_their_own() {
    let (_sandbox, mut workspace) = project();
    ada(&mut workspace).open_pull(pull("a"), None).unwrap();
    assert!(matches!(ada(&mut workspace).approve(1), Err(ForgeError::NotAnIssue { number: 1 })));
    let refused = ada(&mut workspace).review(1, Review::Approved, None);
    assert!(matches!(refused, Err(ForgeError::OwnPull { number: 1, .. })));
    workspace.forge().by(By::person("Bob")).review(1, Review::Approved, None).unwrap();
}

#[test]
fn issues_are_taken_by_priority_and_age_and_the_others_say_why_not() {
    let (_sandbox, mut workspace) = project();
    let mut forge = ada(&mut workspace);
    let ready = ["req", "approved"];
    for (body, labels) in [
        ("", &["req"][..]),                                            // 1: not approved
        ("", &[&ready[..], &["p4-low"]].concat()),                     // 2
        ("", &ready),                                                  // 3: no priority
        ("depends on #2", &[&ready[..], &["p1-critical"]].concat()),   // 4: blocked
        ("## Depends on\n- #6", &[&ready[..], &["p2-high"]].concat()), // 5: a cycle
        ("blocked by #7", &ready),                                     // 6
        ("blocked by #5", &ready),                                     // 7
        ("depends on #9 and #99", &ready),                             // 8: one is closed, one is not there
        ("", &[]),                                                     // 9: no requirement
        ("blocked by #9, #10", &[&ready[..], &["p3-medium", "p1-critical"]].concat()), // 10
    ] {
        forge.file(issue("T", body, labels), None).unwrap();
    }
    forge.close(9, None).unwrap();
    let found: Vec<(u64, String)> = forge
        .candidates()
        .unwrap()
        .into_iter()
        .map(|candidate| (candidate.item.number, candidate.readiness.to_string()))
        .collect();
    let wanted = [
        (4, "blocked by #2"),
        (10, "ready"),
        (5, "blocked by itself: #5 -> #6 -> #7 -> #5"),
        (2, "ready"),
        (1, "not approved"),
        (3, "ready"),
        (6, "blocked by itself: #6 -> #7 -> #5 -> #6"),
        (7, "blocked by itself: #7 -> #5 -> #6 -> #7"),
        (8, "blocked by #99"),
    ];
    assert_eq!(found, wanted.map(|(number, why)| (number, why.to_owned())));
    for (number, why) in [(11, "not there"), (9, "closed"), (4, "blocked by #2"), (3, "ready")] {
        assert_eq!(forge.readiness(number).unwrap().to_string(), why);
    }
    forge.reopen(9).unwrap();
    assert_eq!(forge.readiness(9).unwrap(), Readiness::NotARequirement);
    assert!(Priority::Low < Priority::None);
}

#[test]
fn texts_are_cleaned_and_bounded() {
    let (_sandbox, mut workspace) = project();
    let mut forge = workspace.forge();
    let dirty = issue("  A\n title\u{1b}[31m \u{0}", "a\r\n\tb\u{7}<!-- kept -->\n", &[" req "]);
    forge.file(dirty, None).unwrap();
    let item = forge.item(1).unwrap().unwrap();
    assert_eq!((item.title.as_str(), item.body.as_str()), ("A title[31m", "a\n\tb<!-- kept -->\n"));
    assert_eq!(item.labels, ["req".to_owned()].into());
    for (new, wanted) in [
        (titled(" \u{7} "), "the title is empty"),
        (titled(&"x".repeat(201)), "the title has 201 characters; the most is 200"),
        (issue("T", &"x".repeat(256 * 1024 + 1), &[]), "the text has 262145 bytes; the most is 262144"),
        (issue("T", "", &["a,b"]), "the label `a,b` has a comma"),
        (issue("T", "", &[""]), "the label is empty"),
    ] {
        assert_eq!(forge.file(new, None).unwrap_err().to_string(), wanted);
    }
    assert!(forge.comment(1, " \n", None).is_err());
    for _ in 0..16 {
        forge.comment(1, &"x".repeat(64 * 1024), None).unwrap();
    }
    assert!(matches!(forge.comment(1, "x", None), Err(ForgeError::Full { number: 1, .. })));
    assert_eq!(forge.all_items().unwrap().len(), 1);
}

#[test]
fn looking_makes_nothing() {
    let (sandbox, mut workspace) = project();
    let mut forge = workspace.forge();
    assert_eq!(forge.candidates().unwrap(), []);
    assert_eq!(forge.readiness(1).unwrap(), Readiness::Missing);
    assert_eq!(forge.filed("x").unwrap(), None);
    assert!(matches!(forge.close(1, None), Err(ForgeError::Missing { number: 1 })));
    assert!(!sandbox.home().join("state").exists());
    assert_eq!(sandbox.read(".git/warp/project-id"), None);
}
