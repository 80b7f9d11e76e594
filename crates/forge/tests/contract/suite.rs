//! What every tracker promises.
//!
//! A world may be a server that others use too, so nothing here assumes that it is empty.

use std::{collections::BTreeSet, sync::Arc};

use forge::{
    APPROVED, Author, Edit, Forge, ForgeError, IssueFile, Item, ItemId, NewItem, Query, Readiness, Refusal,
    Tracker, candidates, import, readiness, readiness_if_approved, ready,
};

/// A forge, and who may act on it.
pub(crate) trait World {
    fn tracker(&self, by: Author) -> Arc<dyn Tracker>;
    fn forge(&self, by: Author) -> Arc<dyn Forge>;

    /// Pushes another commit onto a branch, and returns it.
    fn push(&self, branch: &str) -> String;

    /// Returns a text that nobody has used here before.
    fn unused(&self, text: &str) -> String {
        text.to_owned()
    }
}

pub(crate) fn ada() -> Author {
    Author::person("Ada")
}

pub(crate) fn new(title: &str, body: &str, labels: &[&str]) -> NewItem {
    let labels = labels.iter().map(|label| (*label).to_owned()).collect();
    NewItem { title: title.to_owned(), body: body.to_owned(), labels, ..NewItem::default() }
}

pub(crate) fn file(world: &dyn World, body: &str) -> ItemId {
    world.tracker(ada()).file(&new("T", body, &[]), None).unwrap().id
}

fn criteria(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn ids(items: &[Arc<Item>]) -> Vec<ItemId> {
    items.iter().map(|item| item.id).collect()
}

/// An id that nothing has.
pub(crate) const NOBODY: u64 = 999_999_998;

pub(crate) fn a_marker_files_once(world: &dyn World) {
    let (tracker, marker) = (world.tracker(Author::warp()), world.unused("report:run-a"));
    assert_eq!(tracker.filed(&marker).unwrap(), None);
    let first = tracker.file(&new("Report", "", &[]), Some(&marker)).unwrap();
    assert!(!first.was_there);
    let again = world.tracker(ada()).file(&new("Another", "", &[]), Some(&marker)).unwrap();
    assert_eq!((again.id, again.was_there), (first.id, true));
    tracker.close(first.id, None).unwrap();
    assert!(tracker.file(&new("Report", "", &[]), Some(&marker)).unwrap().was_there);
    assert_eq!(tracker.filed(&marker).unwrap(), Some(first.id));
    assert_eq!(tracker.get(first.id).unwrap().title, "Report");
    assert!(!tracker.file(&new("Report", "", &[]), Some(&format!("{marker}:2"))).unwrap().was_there);
    assert_eq!(tracker.get(first.id).unwrap().author, tracker.whoami().unwrap());
}

pub(crate) fn what_is_not_there_is_none_and_acting_on_it_an_error(world: &dyn World) {
    let (tracker, id) = (world.tracker(ada()), ItemId::from(NOBODY));
    assert_eq!(tracker.item(id).unwrap(), None);
    assert_eq!(readiness(&*tracker, id).unwrap(), Readiness::Missing);
    let odd = ItemId::parse("no-such-item").unwrap();
    assert_eq!(tracker.item(odd).unwrap(), None);
    for done in [
        tracker.get(id),
        tracker.edit(id, &Edit { title: Some("T".to_owned()), ..Edit::default() }),
        tracker.comment(id, "x", None),
        tracker.ensure_labels(id, &["x"], &[]),
        tracker.approve(id),
        tracker.assign(id, Some("x")),
        tracker.tick(id, &criteria(&["AC-01"])),
        tracker.untick(id, &criteria(&["AC-01"])),
        tracker.close(id, None),
        tracker.reopen(id),
    ] {
        assert!(matches!(&done, Err(ForgeError::NotThere { id: at }) if *at == id), "{done:?}");
    }
}

pub(crate) fn ids_are_given_in_order_and_stay(world: &dyn World) {
    let tracker = world.tracker(ada());
    let (one, two) = (file(world, "one"), file(world, "two"));
    assert!(one < two, "{one} {two}");
    tracker.close(two, None).unwrap();
    assert!(two < file(world, "three"), "an id is given once");
    let taken = tracker.file(&NewItem { id: Some(one), ..new("T", "", &[]) }, None);
    if tracker.capabilities().chooses_ids {
        assert!(matches!(taken, Err(ForgeError::Refused(Refusal::Taken { id })) if id == one));
    } else {
        assert!(matches!(taken, Err(ForgeError::Refused(Refusal::Unsupported { .. }))));
    }
    assert_eq!(tracker.get(one).unwrap().body, "one");
}

pub(crate) fn lists_hold_what_was_asked_for_and_all_of_it(world: &dyn World) {
    let (tracker, begins) = (world.tracker(ada()), world.unused("todo:7:"));
    let closed = tracker.count_closed().unwrap();
    let filed: Vec<ItemId> = (0..60)
        .map(|index| tracker.file(&new("T", "", &[]), Some(&format!("{begins}{index}"))).unwrap().id)
        .collect();
    let other = file(world, "");
    let born_closed = NewItem { is_closed: true, ..new("To read", "", &[]) };
    let born_closed = tracker.file(&born_closed, None).unwrap().id;
    tracker.close(filed[3], None).unwrap();
    assert_eq!(ids(&tracker.items(Query::Marked(&begins)).unwrap()), filed, "closed ones too, in order");
    let open = ids(&tracker.items(Query::Open).unwrap());
    assert!(open.contains(&filed[0]) && open.contains(&filed[59]) && open.contains(&other));
    assert!(!open.contains(&filed[3]) && !open.contains(&born_closed) && open.is_sorted());
    let all = ids(&tracker.items(Query::All).unwrap());
    assert!(filed.iter().all(|id| all.contains(id)) && all.contains(&born_closed) && all.is_sorted());
    assert_eq!(tracker.count_closed().unwrap(), closed + 2);
    assert_eq!(tracker.items(Query::Marked(&world.unused("nothing:"))).unwrap(), []);
}

pub(crate) fn labels_are_ensured(world: &dyn World) {
    let tracker = world.tracker(ada());
    let id = tracker.file(&new("T", "", &["req", "old"]), None).unwrap().id;
    let item = tracker.ensure_labels(id, &["p1-critical", "req"], &["old", "nothing"]).unwrap();
    let wanted: BTreeSet<String> = ["p1-critical", "req"].map(str::to_owned).into();
    assert_eq!(item.labels, wanted);
    assert_eq!(tracker.ensure_labels(id, &["req"], &["old"]).unwrap(), item, "again changes nothing");
    assert_eq!(tracker.get(id).unwrap(), item);
    assert!(!tracker.ensure_labels(id, &[], &["req"]).unwrap().labels.contains("req"));
    assert!(tracker.ensure_labels(id, &["a,b"], &[]).is_err());
}

pub(crate) fn only_a_person_approves(world: &dyn World) {
    let (tracker, warp, agent) =
        (world.tracker(ada()), world.tracker(Author::warp()), world.tracker(Author::agent("claude")));
    let id = warp.file(&new("T", "- [ ] a", &["req", APPROVED]), None).unwrap().id;
    let approval = || warp.approval(&warp.get(id).unwrap()).unwrap();
    assert_eq!(approval(), None, "a label by itself approves nothing");
    assert_eq!(readiness(&*warp, id).unwrap(), Readiness::NotApproved);
    for nobody in [&warp, &agent] {
        let refused = nobody.approve(id);
        assert!(matches!(refused, Err(ForgeError::Refused(Refusal::NotAPerson { .. }))));
        nobody.ensure_labels(id, &[APPROVED], &[]).unwrap();
        assert_eq!(approval(), None);
    }
    assert_eq!(readiness_if_approved(&*warp, id).unwrap(), Readiness::Ready);
    tracker.ensure_labels(id, &[APPROVED], &[]).unwrap();
    assert_eq!(approval().as_deref(), Some("Ada"));
    world.tracker(Author::person("Bob")).approve(id).unwrap();
    assert_eq!(approval().as_deref(), Some("Ada"), "the first approval stays");
    assert_eq!(readiness(&*warp, id).unwrap(), Readiness::Ready);
    warp.ensure_labels(id, &[], &[APPROVED]).unwrap();
    assert_eq!(approval(), None, "whoever takes the label away takes the approval back");
}

pub(crate) fn ticking_changes_nothing_but_its_boxes(world: &dyn World) {
    let body = "- [ ] one\n```\n- [ ] code\n```\n- [ ] two\n<!-- - [ ] hidden -->\n- [x] three\n";
    let (tracker, id) = (world.tracker(Author::warp()), file(world, body));
    let some = criteria(&["AC-02", "AC-03", "AC-07"]);
    let item = tracker.tick(id, &some).unwrap();
    assert_eq!(item.body, body.replace("[ ] two", "[x] two"));
    assert_eq!(item.count_ticked(&some), 2);
    assert_eq!(tracker.tick(id, &some).unwrap(), item, "again changes nothing");
    let item = tracker.untick(id, &criteria(&["AC-02", "AC-03"])).unwrap();
    assert_eq!(item.body, body.replace("[x] three", "[ ] three"));
    assert_eq!(item.labels, tracker.get(id).unwrap().labels);
}

pub(crate) fn nobody_writes_over_an_edit(world: &dyn World) {
    let (tracker, id) = (world.tracker(Author::warp()), file(world, "- [ ] one\n"));
    let seen = tracker.get(id).unwrap();
    let edited = "Some words.\n\n- [ ] one\n- [ ] two\n";
    let edit = |body: &str, base: Option<&str>| Edit {
        body: Some(body.to_owned()),
        base: base.map(str::to_owned),
        ..Edit::default()
    };
    world.tracker(ada()).edit(id, &edit(edited, Some(&seen.body))).unwrap();
    let late = tracker.edit(id, &edit("- [x] one\n", Some(&seen.body)));
    assert!(matches!(late, Err(ForgeError::Conflict { .. })), "{late:?}");
    assert_eq!(tracker.get(id).unwrap().body, edited);
    let item = tracker.tick(id, &criteria(&["AC-02"])).unwrap();
    assert_eq!(item.body, edited.replace("[ ] two", "[x] two"), "a tick goes into the text that is there");
    let id = file(world, "Only words.");
    let item = tracker.edit(id, &edit("- [ ] only\n", None)).unwrap();
    assert_eq!((item.title.as_str(), item.body.as_str()), ("T", "- [ ] only\n"));
    assert!(item.labels.contains("req"), "an issue that gets criteria is a requirement: {item:?}");
}

pub(crate) fn comments_are_bounded_and_made_once(world: &dyn World) {
    let (tracker, id) = (world.tracker(Author::warp()), file(world, ""));
    tracker.comment(id, "seen", Some("c")).unwrap();
    let item = tracker.comment(id, "seen again", Some("c")).unwrap();
    assert_eq!((item.comments.len(), item.comments[0].text.as_str()), (1, "seen"));
    assert!(item.has_comment("c") && !item.has_comment("d"));
    tracker.comment(id, "seen", None).unwrap();
    let item = world.tracker(ada()).comment(id, "<!-- kept --> two\nlines", None).unwrap();
    let last = item.comments.last().unwrap();
    assert_eq!((item.comments.len(), last.text.as_str()), (3, "<!-- kept --> two\nlines"));
    assert_eq!(last.author, ada());
    let longest = tracker.capabilities().longest_comment;
    for text in [" \n".to_owned(), "x".repeat(longest + 1)] {
        let refused = tracker.comment(id, &text, None);
        assert!(matches!(refused, Err(ForgeError::Refused(Refusal::Text { .. }))), "{refused:?}");
    }
    for index in 0..32 {
        match tracker.comment(id, &"x".repeat(longest), None) {
            Ok(_) => assert!(index < 31, "an item may be read whole"),
            Err(error) => {
                assert!(matches!(error, ForgeError::Refused(Refusal::Full { .. })), "{error}");
                break;
            }
        }
    }
}

pub(crate) fn what_is_closed_stays_so_until_it_is_opened_again(world: &dyn World) {
    let (tracker, id) = (world.tracker(ada()), file(world, "- [ ] a\n"));
    assert!(tracker.reopen(id).unwrap().is_open());
    let item = tracker.close(id, Some("done")).unwrap();
    assert_eq!((item.is_open(), item.closed_because.as_deref()), (false, Some("done")));
    let again = tracker.close(id, Some("another reason")).unwrap();
    assert_eq!(again.closed_because.as_deref(), Some("done"));
    assert_eq!(readiness(&*tracker, id).unwrap(), Readiness::Closed);
    assert_eq!(readiness_if_approved(&*tracker, id).unwrap(), Readiness::Closed);
    let item = tracker.comment(id, "a word after the end", None).unwrap();
    assert!(!item.is_open(), "a comment opens nothing");
    let item = tracker.reopen(id).unwrap();
    assert_eq!((item.is_open(), item.closed_because.as_deref()), (true, None));
}

pub(crate) fn texts_are_bounded_and_cleaned(world: &dyn World) {
    let tracker = world.tracker(ada());
    let dirty = new("  A\n title\u{1b}[31m \u{0}", "a\r\n\tb\u{7}<!-- kept -->\n", &[" req "]);
    let item = tracker.get(tracker.file(&dirty, None).unwrap().id).unwrap();
    assert_eq!((item.title.as_str(), item.body.as_str()), ("A title[31m", "a\n\tb<!-- kept -->\n"));
    assert!(item.labels.contains("req"));
    for bad in [
        new(" \u{7} ", "", &[]),
        new(&"x".repeat(201), "", &[]),
        new("T", &"x".repeat(tracker.capabilities().longest_text + 1), &[]),
        new("T", "", &[""]),
    ] {
        let refused = tracker.file(&bad, None);
        assert!(matches!(refused, Err(ForgeError::Refused(Refusal::Text { .. }))), "{refused:?}");
    }
    let marked = tracker.file(&new("T", "", &[]), Some("two\nlines"));
    assert!(matches!(marked, Err(ForgeError::Refused(Refusal::Text { .. }))));
}

pub(crate) fn what_can_be_taken_depends_on_others(world: &dyn World) {
    let tracker = world.tracker(ada());
    let file = |body: &str, labels: &[&str]| tracker.file(&new("T", body, labels), None).unwrap().id;
    let first = file("", &["req", APPROVED, "p4-low"]);
    let second = file(&format!("depends on #{first}"), &["req", APPROVED, "p1-critical"]);
    let circular = file("", &["req", APPROVED]);
    let other = file(&format!("blocked by #{circular}"), &["req", APPROVED]);
    let body = Some(format!("depends on #{other}"));
    tracker.edit(circular, &Edit { body, ..Edit::default() }).unwrap();
    let lost = file(&format!("blocked by #{NOBODY}"), &["req", APPROVED]);
    let met = file("- [x] a\n", &["req", APPROVED]);
    let none = file("", &[]);
    let unapproved = world.tracker(Author::warp()).file(&new("T", "", &["req"]), None).unwrap().id;
    let wanted = [
        (second, Readiness::Blocked { on: vec![first] }),
        (first, Readiness::Ready),
        (circular, Readiness::Cycle { path: vec![circular, other, circular] }),
        (other, Readiness::Cycle { path: vec![other, circular, other] }),
        (lost, Readiness::Blocked { on: vec![ItemId::from(NOBODY)] }),
        (met, Readiness::Met),
        (unapproved, Readiness::NotApproved),
    ];
    let found: Vec<(ItemId, Readiness)> = candidates(&*tracker)
        .unwrap()
        .into_iter()
        .map(|candidate| (candidate.item.id, candidate.readiness))
        .filter(|(id, _)| wanted.iter().any(|(wanted, _)| wanted == id))
        .collect();
    assert_eq!(found, wanted, "by priority, then oldest first");
    for (id, is) in &wanted {
        assert_eq!(readiness(&*tracker, *id).unwrap(), *is);
    }
    assert_eq!(readiness(&*tracker, none).unwrap(), Readiness::NotARequirement);
    let taken: Vec<ItemId> = ready(&*tracker).unwrap().map(|item| item.unwrap().id).collect();
    assert!(taken.contains(&first) && !taken.contains(&second));
    tracker.close(first, None).unwrap();
    assert_eq!(readiness(&*tracker, second).unwrap(), Readiness::Ready);
}

pub(crate) fn a_file_is_one_issue(world: &dyn World) {
    let tracker = world.tracker(ada());
    let from = |text: &str| IssueFile {
        file: world.unused("issues/parser.md"),
        text: text.to_owned(),
        id: None,
        hoped_for: Some(ItemId::from(4242)),
    };
    let first = import(&*tracker, &from("# Parse\n\n- [ ] a\n- [ ] b\n")).unwrap();
    assert!(!first.was_there && first.item.labels.contains("req"));
    assert_eq!(first.item.id == ItemId::from(4242), tracker.capabilities().chooses_ids);
    tracker.tick(first.item.id, &criteria(&["AC-02"])).unwrap();
    let again = import(&*tracker, &from("# Parse all\n\n- [ ] b\n- [ ] c\n")).unwrap();
    assert_eq!((again.was_there, again.item.id), (true, first.item.id));
    assert_eq!((again.item.title.as_str(), again.item.boxes().checked()), ("Parse all", 1));
    let other = IssueFile { id: Some(ItemId::from(NOBODY)), ..from("# Parse\n") };
    let refused = import(&*tracker, &other);
    assert!(matches!(refused, Err(ForgeError::Refused(Refusal::ImportedAs { .. }))), "{refused:?}");
    assert!(import(&*tracker, &from("no heading")).is_err());
}
