//! The embedded forge, in a real store: numbers, markers, folding, and what can be taken.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    collections::BTreeSet,
    sync::{Arc, Barrier},
    thread,
};

use forge::{
    Author, Edit, FiledItem, ForgeError, Item, ItemId, ItemState, Merge, NewItem, NewPull, Priority, Query,
    Readiness, Refusal, Review, Tracker, candidates, readiness,
};
use journal::{NewEvent, Scope, Store, View};
use project::{Dirs, Place, Workspace};
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

fn ada(workspace: &Workspace) -> Arc<dyn Tracker> {
    workspace.tracker_as(Author::person("Ada"))
}

fn id(number: u64) -> ItemId {
    ItemId::from(number)
}

fn filed(number: u64, was_there: bool) -> FiledItem {
    FiledItem { id: id(number), was_there, url: None }
}

/// Returns every issue and pull request.
fn all(workspace: &Workspace) -> Vec<Arc<Item>> {
    let mut items = workspace.tracker().items(Query::All).unwrap();
    items.extend(workspace.forge().pulls(Query::All).unwrap());
    items.sort_by_key(|item| item.id);
    items
}

fn issue(title: &str, body: &str, labels: &[&str]) -> NewItem {
    let labels = labels.iter().map(|label| (*label).to_owned()).collect();
    NewItem { title: title.to_owned(), body: body.to_owned(), labels, ..NewItem::default() }
}

fn titled(title: &str) -> NewItem {
    issue(title, "", &[])
}

/// The commit that pull requests offer.
const HEAD: &str = "97165b483c";

fn pull(branch: &str) -> NewPull {
    NewPull {
        title: "Add a parser".to_owned(),
        body: String::new(),
        branch: branch.to_owned(),
        target: "main".to_owned(),
        head: HEAD.to_owned(),
        issue: Some(id(1)),
        run: None,
    }
}

fn titles(workspace: &Workspace) -> Vec<String> {
    workspace.tracker().items(Query::Open).unwrap().iter().map(|item| item.title.clone()).collect()
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
    for view in store.views(journal::Query::Names("item:")).unwrap() {
        let event = NewEvent { at: view.updated_at, kind: "labelled".to_owned(), body: nothing.into() };
        let (mark, topic) = (view.mark.as_deref(), view.topic.as_deref());
        store.append(&view.stream, &view.version, &[event], View { snapshot: b"", mark, topic }).unwrap();
    }
}

#[test]
fn issues_and_pull_requests_share_their_numbers() {
    let (_sandbox, workspace) = project();
    let tracker = ada(&workspace);
    assert_eq!(all(&workspace), []);
    assert_eq!(tracker.item(id(1)).unwrap(), None);
    assert_eq!(tracker.file(&titled("One"), None).unwrap(), filed(1, false));
    assert_eq!(workspace.forge().ensure_pull(&pull("feature/a"), "a").unwrap(), filed(2, false));
    let imported = NewItem { id: Some(id(42)), ..titled("From a file") };
    assert_eq!(tracker.file(&imported.clone(), None).unwrap().id, id(42));
    assert!(matches!(tracker.file(&imported, None), Err(ForgeError::Refused(Refusal::Taken { .. }))));
    assert_eq!(tracker.file(&titled("After the highest"), None).unwrap().id, id(43));
    let ids: Vec<ItemId> = all(&workspace).iter().map(|item| item.id).collect();
    assert_eq!(ids, [1, 2, 42, 43].map(id));
    assert!(matches!(
        tracker.file(&NewItem { id: Some(id(0)), ..titled("Zero") }, None),
        Err(ForgeError::Refused(Refusal::Number { .. }))
    ));
}

#[test]
fn many_writers_leave_no_gap_and_no_double() {
    let (sandbox, workspace) = project();
    workspace.tracker().file(&titled("The first"), None).unwrap();
    let barrier = Barrier::new(4);
    let numbers: Vec<ItemId> = thread::scope(|scope| {
        let writer = |name: usize| {
            let (sandbox, barrier) = (&sandbox, &barrier);
            scope.spawn(move || {
                let workspace = open(sandbox);
                barrier.wait();
                let file = |number: usize| {
                    let filed = workspace.tracker().file(&titled(&format!("{name} {number}")), None).unwrap();
                    filed.id
                };
                (0..25).map(file).collect::<Vec<ItemId>>()
            })
        };
        let writers: Vec<_> = (0..4).map(writer).collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    let all: BTreeSet<ItemId> = numbers.iter().copied().collect();
    assert_eq!(all, (2..=101).map(id).collect::<BTreeSet<ItemId>>());
    assert_eq!(numbers.len(), 100);
}

#[test]
fn two_writers_with_one_marker_file_once() {
    for round in 0..10 {
        let (sandbox, _) = project();
        let barrier = Barrier::new(2);
        let filed: Vec<FiledItem> = thread::scope(|scope| {
            let writer = |_| {
                let (sandbox, barrier) = (&sandbox, &barrier);
                scope.spawn(move || {
                    let workspace = open(sandbox);
                    barrier.wait();
                    workspace.tracker().file(&titled("Report"), Some("run-a/chunk-1")).unwrap()
                })
            };
            let writers: Vec<_> = (0..2).map(writer).collect();
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        assert_eq!((filed[0].id, filed[1].id), (id(1), id(1)), "{round}");
        assert_eq!(filed.iter().filter(|filed| filed.was_there).count(), 1, "{round}");
        let workspace = open(&sandbox);
        assert_eq!(all(&workspace).len(), 1, "{round}");
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
            let tracker = workspace.tracker();
            let number = tracker.file(&issue(&point, "- [ ] one", &[]), Some(&point)).unwrap().id;
            tracker.comment(number, "done", Some("report")).unwrap();
            tracker.tick(number, &["AC-01".to_owned()]).unwrap();
            tracker.close(number, None).unwrap();
        };
        let crashed = catch_unwind(AssertUnwindSafe(|| act(&mut open(&sandbox))));
        assert!(crashed.is_err(), "{point} was passed");
        boundary::unwatch();
        act(&mut open(&sandbox));
    }
    let items = all(&open(&sandbox));
    assert_eq!(items.len(), 8, "each was filed once");
    for item in items {
        assert_eq!((item.comments.len(), item.boxes().checked()), (1, 1), "{}", item.title);
    }
    let events = journal(&open(&sandbox)).read(Scope::Store, 0, 100).unwrap();
    assert_eq!(events.len(), 8 * 4, "nothing was recorded twice");
}

#[test]
fn a_marker_holds_however_often_the_item_changes() {
    let (_sandbox, workspace) = project();
    let tracker = workspace.tracker();
    let first = tracker.file(&titled("Report"), Some("key")).unwrap();
    tracker.comment(id(1), "seen", Some("c")).unwrap();
    tracker.comment(id(1), "seen", Some("c")).unwrap();
    tracker.comment(id(1), "seen", None).unwrap();
    tracker.close(id(1), Some("done")).unwrap();
    assert_eq!(tracker.filed("key").unwrap(), Some(first.id));
    assert_eq!(tracker.file(&titled("Another"), Some("key")).unwrap(), filed(1, true));
    let item = tracker.item(id(1)).unwrap().unwrap();
    assert_eq!((item.title.as_str(), item.comments.len()), ("Report", 2));
    assert_eq!(item.closed_because.as_deref(), Some("done"));
    assert_eq!(workspace.forge().ensure_pull(&pull("b"), "pull").unwrap().id, id(2));
    assert_eq!(workspace.forge().ensure_pull(&pull("b"), "pull").unwrap(), filed(2, true));
}

#[test]
fn ticking_again_changes_nothing() {
    let (_sandbox, workspace) = project();
    let body = "- [ ] one\n```\n- [ ] code\n```\n- [ ] two\n<!-- - [ ] hidden -->\n- [x] three\n";
    workspace.tracker().file(&issue("T", body, &[]), None).unwrap();
    let criteria = ["AC-02", "AC-03", "AC-07"].map(str::to_owned);
    assert_eq!(workspace.tracker().tick(id(1), &criteria).unwrap().count_ticked(&criteria), 2);
    let ticked = workspace.tracker().item(id(1)).unwrap().unwrap();
    assert_eq!(ticked.body, body.replace("- [ ] two", "- [x] two"));
    assert_eq!(workspace.tracker().tick(id(1), &criteria).unwrap().count_ticked(&criteria), 2);
    assert_eq!(workspace.tracker().item(id(1)).unwrap().unwrap(), ticked);
    let events = journal(&workspace).read(Scope::Store, 0, 100).unwrap();
    assert_eq!(events.iter().filter(|event| event.kind == "ticked").count(), 1);
    assert!(matches!(workspace.tracker().tick(id(9), &criteria), Err(ForgeError::NotThere { .. })));
}

/// Does everything that can be done to items.
fn lead_a_life(workspace: &mut Workspace) {
    let tracker = ada(workspace);
    tracker.file(&issue("A parser", "- [ ] reads\n- [ ] writes\n", &["req"]), Some("a")).unwrap();
    tracker.edit(id(1), &Edit { title: Some("The parser".to_owned()), ..Edit::default() }).unwrap();
    tracker
        .edit(id(1), &Edit { body: Some("- [ ] reads\n- [ ] writes well\n".to_owned()), ..Edit::default() })
        .unwrap();
    tracker.ensure_labels(id(1), &["p1-critical", "x"], &[]).unwrap();
    tracker.ensure_labels(id(1), &["y"], &["x", "nothing"]).unwrap();
    tracker.approve(id(1)).unwrap();
    tracker.assign(id(1), Some("run-a")).unwrap();
    tracker.comment(id(1), "hello\nyou", None).unwrap();
    tracker.tick(id(1), &["AC-02".to_owned()]).unwrap();
    tracker.close(id(1), None).unwrap();
    tracker.reopen(id(1)).unwrap();
    workspace.forge().ensure_pull(&pull("feature/a"), "p").unwrap();
    let forge = workspace.forge_as(Author::person("Ada"));
    forge.review(id(2), HEAD, Review::ChangesRequested, Some("a test is missing")).unwrap();
    forge.review(id(2), HEAD, Review::Approved, None).unwrap();
    let merge = Merge { head: HEAD, landed: Some("1234567890") };
    forge.merge(id(2), &merge).unwrap();
    forge.merge(id(2), &merge).unwrap();
}

#[test]
fn folding_the_events_gives_what_is_kept_beside_them() {
    let (_sandbox, mut workspace) = project();
    lead_a_life(&mut workspace);
    let kept = all(&workspace);
    forget_snapshots(&workspace);
    assert_eq!(all(&workspace), kept);
    let [issue, pull] = <[Arc<Item>; 2]>::try_from(kept).unwrap();
    assert_eq!(issue.body, "- [ ] reads\n- [x] writes well\n");
    assert_eq!(issue.labels, ["approved", "p1-critical", "req", "y"].map(str::to_owned).into());
    assert_eq!(issue.approved_by.as_deref(), Some("Ada"));
    assert_eq!((issue.state, pull.state), (ItemState::Open, ItemState::Closed));
    let opened = pull.pull.as_ref().unwrap();
    assert_eq!((opened.review, opened.merged.as_deref()), (Review::Approved, Some("1234567890")));
    assert_eq!(pull.comments[0].text, "a test is missing");
    assert!(matches!(ada(&workspace).reopen(id(2)), Err(ForgeError::Refused(Refusal::Merged { .. }))));
    let merged = workspace.forge().merge(id(1), &Merge { head: "x", landed: Some("x") });
    assert!(matches!(merged, Err(ForgeError::Refused(Refusal::NotAPull { .. }))));
    // What comes after a lost snapshot makes it whole again.
    let edited = ada(&workspace).comment(id(1), "on it goes", None).unwrap();
    assert_eq!(workspace.tracker().item(id(1)).unwrap().unwrap(), edited);
    assert_eq!(workspace.tracker().file(&titled("again"), Some("a")).unwrap().id, id(1));
}

#[test]
fn open_ones_are_listed_without_reading_closed_ones() {
    let (_sandbox, mut workspace) = project();
    let tracker = workspace.tracker();
    for number in 1..=5 {
        tracker.file(&titled(&format!("Report {number}")), None).unwrap();
        tracker.close(id(number), None).unwrap();
    }
    tracker.file(&issue("Open", "", &["req"]), None).unwrap();
    // A closed one that cannot be read at all is nobody's business.
    let store = journal(&workspace);
    let view = store.views(journal::Query::Topic("issues:closed")).unwrap().remove(0);
    let event = NewEvent { at: 1, kind: "x".to_owned(), body: b"no JSON".to_vec() };
    let beside = View { snapshot: b"", mark: None, topic: view.topic.as_deref() };
    store.append(&view.stream, &view.version, &[event], beside).unwrap();
    let tracker = workspace.tracker();
    assert_eq!(titles(&workspace), ["Open"]);
    assert_eq!(candidates(&*tracker).unwrap().len(), 1);
    assert_eq!((tracker.count_closed().unwrap(), workspace.forge().count_closed().unwrap()), (5, 0));
    assert!(matches!(tracker.items(Query::All), Err(ForgeError::BadAnswer { .. })));
    assert_eq!(workspace.runs().unwrap().len(), 0, "items are no runs");
    assert!(workspace.select(None).unwrap().is_none());
}

#[test]
fn what_others_do_is_seen_by_whoever_has_looked_before() {
    let (sandbox, workspace) = project();
    for title in ["One", "Two", "Three"] {
        workspace.tracker().file(&titled(title), None).unwrap();
    }
    assert_eq!(titles(&workspace), ["One", "Two", "Three"]);
    let other = open(&sandbox);
    ada(&other).close(id(2), None).unwrap();
    let retitled = Edit { title: Some("The first".to_owned()), ..Edit::default() };
    ada(&other).edit(id(1), &retitled).unwrap();
    other.tracker().file(&titled("Four"), None).unwrap();
    assert_eq!(titles(&workspace), ["The first", "Three", "Four"]);
    assert!(!workspace.tracker().item(id(2)).unwrap().unwrap().is_open());
    // A change is made of what is there by then.
    ada(&other).comment(id(3), "from afar", None).unwrap();
    let item = ada(&workspace).comment(id(3), "and from here", None).unwrap();
    let texts: Vec<&str> = item.comments.iter().map(|comment| comment.text.as_str()).collect();
    assert_eq!(texts, ["from afar", "and from here"]);
    assert_eq!(other.tracker().item(id(3)).unwrap().unwrap(), item);
    // So many are read at once.
    for number in 5..40 {
        other.tracker().file(&titled(&format!("Nr. {number}")), None).unwrap();
    }
    ada(&other).reopen(id(2)).unwrap();
    let all = titles(&workspace);
    assert_eq!((all.len(), all[1].as_str(), all.last().unwrap().as_str()), (39, "Two", "Nr. 39"));
}

#[test]
fn issues_are_taken_by_priority_and_age_and_the_others_say_why_not() {
    let (_sandbox, workspace) = project();
    let tracker = ada(&workspace);
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
        tracker.file(&issue("T", body, labels), None).unwrap();
    }
    tracker.close(id(9), None).unwrap();
    let found: Vec<(ItemId, String)> = candidates(&*tracker)
        .unwrap()
        .into_iter()
        .map(|candidate| (candidate.item.id, candidate.readiness.to_string()))
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
    assert_eq!(found, wanted.map(|(number, why)| (id(number), why.to_owned())));
    for (number, why) in [(11, "not there"), (9, "closed"), (4, "blocked by #2"), (3, "ready")] {
        assert_eq!(readiness(&*tracker, id(number)).unwrap().to_string(), why);
    }
    tracker.reopen(id(9)).unwrap();
    assert_eq!(readiness(&*tracker, id(9)).unwrap(), Readiness::NotARequirement);
    assert!(Priority::Low < Priority::None);
}

#[test]
fn texts_are_cleaned_and_bounded() {
    let (_sandbox, workspace) = project();
    let tracker = workspace.tracker();
    let dirty = issue("  A\n title\u{1b}[31m \u{0}", "a\r\n\tb\u{7}<!-- kept -->\n", &[" req "]);
    tracker.file(&dirty, None).unwrap();
    let item = tracker.item(id(1)).unwrap().unwrap();
    assert_eq!((item.title.as_str(), item.body.as_str()), ("A title[31m", "a\n\tb<!-- kept -->\n"));
    assert_eq!(item.labels, ["req".to_owned()].into());
    for (new, wanted) in [
        (titled(" \u{7} "), "the title is empty"),
        (titled(&"x".repeat(201)), "the title has 201 characters; the most is 200"),
        (issue("T", &"x".repeat(256 * 1024 + 1), &[]), "the text has 262145 bytes; the most is 262144"),
        (issue("T", "", &["a,b"]), "the label `a,b` has a comma"),
        (issue("T", "", &[""]), "the label is empty"),
    ] {
        assert_eq!(tracker.file(&new, None).unwrap_err().to_string(), wanted);
    }
    assert!(tracker.comment(id(1), " \n", None).is_err());
    for _ in 0..16 {
        tracker.comment(id(1), &"x".repeat(64 * 1024), None).unwrap();
    }
    assert!(matches!(tracker.comment(id(1), "x", None), Err(ForgeError::Refused(Refusal::Full { .. }))));
    assert_eq!(all(&workspace).len(), 1);
}

#[test]
fn looking_makes_nothing() {
    let (sandbox, workspace) = project();
    let tracker = workspace.tracker();
    assert_eq!(candidates(&*tracker).unwrap(), []);
    assert_eq!(readiness(&*tracker, id(1)).unwrap(), Readiness::Missing);
    assert_eq!(tracker.filed("x").unwrap(), None);
    assert!(matches!(tracker.close(id(1), None), Err(ForgeError::NotThere { .. })));
    assert!(!sandbox.home().join("state").exists());
    assert_eq!(sandbox.read(".git/warp/project-id"), None);
}

#[test]
fn a_pull_request_that_is_older_than_its_run_knows_it_by_its_marker() {
    let (_sandbox, workspace) = project();
    let forge = workspace.forge();
    let run_of = |new: &NewPull, marker: &str| {
        let filed = forge.ensure_pull(new, marker).unwrap();
        forge.get(filed.id).unwrap().1.run
    };
    let old = pull("feature/a");
    assert_eq!(run_of(&old, "pull:0123456789:42").as_deref(), Some("0123456789"));
    assert_eq!(run_of(&old, "pull:abcdefghij:").as_deref(), Some("abcdefghij"), "a loop is about no issue");
    assert_eq!(run_of(&old, "somebody's own"), None);
    let new = NewPull { run: Some("run-b".to_owned()), ..old };
    assert_eq!(run_of(&new, "pull:run-a:7").as_deref(), Some("run-b"));
}
