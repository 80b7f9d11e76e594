//! What every forge promises of pull requests.

use std::sync::Arc;

use forge::{Author, Forge, ForgeError, Item, ItemId, Merge, NewPull, Query, Refusal, Review};

use crate::suite::{NOBODY, World, ada, file};

fn new(world: &dyn World, branch: &str) -> NewPull {
    NewPull {
        title: "Add a parser".to_owned(),
        body: "Three commits.".to_owned(),
        branch: world.unused(branch),
        target: "main".to_owned(),
        head: world.push(&world.unused(branch)),
        issue: Some(file(world, "")),
        run: Some("run-a".to_owned()),
    }
}

/// Opens a pull request in warp's name, and returns its first commit too.
fn opened(world: &dyn World, branch: &str) -> (Arc<dyn Forge>, ItemId, String) {
    let (forge, new) = (world.forge(Author::warp()), new(world, branch));
    let filed = forge.ensure_pull(&new, &world.unused(&format!("pull:run-a:{branch}"))).unwrap();
    (forge, filed.id, new.head)
}

fn review_of(item: &Item) -> (Review, Option<&str>) {
    let pull = item.pull.as_ref().unwrap();
    (pull.review, pull.reviewed_by.as_deref())
}

/// Merges as this world does: by itself, or as a commit that was landed before.
fn merge(forge: &dyn Forge, id: ItemId, head: &str) -> Result<Arc<Item>, ForgeError> {
    let landed = (!forge.capabilities().moves_branches).then_some(head);
    forge.merge(id, &Merge { head, landed })
}

pub(crate) fn a_marker_opens_one_pull_request(world: &dyn World) {
    let (forge, new, marker) =
        (world.forge(Author::warp()), new(world, "feature/a"), world.unused("pull:run-a:1"));
    assert_eq!(forge.opened(&marker).unwrap(), None);
    let filed = forge.ensure_pull(&new, &marker).unwrap();
    assert!(!filed.was_there);
    let again = forge.ensure_pull(&new, &marker).unwrap();
    assert_eq!((again.id, again.was_there), (filed.id, true));
    assert_eq!(forge.opened(&marker).unwrap(), Some(filed.id));
    let (item, pull) = forge.get(filed.id).unwrap();
    assert_eq!((pull.branch, pull.target, pull.head), (new.branch, new.target, new.head));
    assert_eq!((pull.issue, pull.run.as_deref(), pull.merged), (new.issue, Some("run-a"), None));
    assert_eq!((item.title.as_str(), item.is_open()), ("Add a parser", true));
    assert_eq!(item.author, forge.whoami().unwrap());
}

pub(crate) fn an_issue_is_no_pull_request(world: &dyn World) {
    let (forge, id, head) = opened(world, "feature/lists");
    let (tracker, issue) = (world.tracker(ada()), file(world, ""));
    let listed = |query: Query<'_>| forge.pulls(query).unwrap().iter().any(|item| item.id == id);
    assert!(listed(Query::Open) && listed(Query::All));
    assert!(!tracker.items(Query::All).unwrap().iter().any(|item| item.pull.is_some()));
    assert_eq!(forge.pull(ItemId::from(NOBODY)).unwrap(), None);
    assert!(matches!(forge.get(ItemId::from(NOBODY)), Err(ForgeError::NotThere { .. })));
    if !forge.capabilities().shares_ids {
        return;
    }
    for refused in [
        forge.pull(issue).map(drop),
        forge.review(issue, &head, Review::Approved, None).map(drop),
        merge(&*forge, issue, &head).map(drop),
        forge.offer_head(issue, &head, None).map(drop),
    ] {
        assert!(matches!(refused, Err(ForgeError::Refused(Refusal::NotAPull { .. }))), "{refused:?}");
    }
    assert!(matches!(tracker.approve(id), Err(ForgeError::Refused(Refusal::NotAnIssue { .. }))));
}

pub(crate) fn a_review_is_of_the_commit_that_is_offered(world: &dyn World) {
    let (forge, id, head) = opened(world, "feature/review");
    let reviewer = world.forge(ada());
    let own = forge.review(id, &head, Review::Approved, None);
    assert!(matches!(own, Err(ForgeError::Refused(Refusal::OwnPull { .. }))), "{own:?}");
    let stale = reviewer.review(id, &"f".repeat(40), Review::Approved, None);
    assert!(matches!(stale, Err(ForgeError::Conflict { .. })), "{stale:?}");
    assert_eq!(review_of(&forge.get(id).unwrap().0), (Review::Pending, None));
    let item = reviewer.review(id, &head, Review::ChangesRequested, Some("a test is missing")).unwrap();
    assert_eq!(review_of(&item), (Review::ChangesRequested, Some("Ada")));
    assert_eq!(item.comments.last().unwrap().text, "a test is missing");
    let item = reviewer.review(id, &head, Review::Approved, None).unwrap();
    assert_eq!(review_of(&item), (Review::Approved, Some("Ada")));
    assert_eq!(reviewer.review(id, &head, Review::Approved, None).unwrap(), item, "again changes nothing");
}

pub(crate) fn another_commit_is_not_reviewed_yet(world: &dyn World) {
    let (forge, id, head) = opened(world, "feature/rounds");
    world.forge(ada()).review(id, &head, Review::Approved, None).unwrap();
    let rebased = world.push(&world.unused("feature/rounds"));
    let item = forge.offer_head(id, &rebased, Some(&head)).unwrap();
    assert_eq!(review_of(&item), (Review::Approved, Some("Ada")), "the same work on a newer target");
    let next = world.push(&world.unused("feature/rounds"));
    let item = forge.offer_head(id, &next, None).unwrap();
    assert_eq!(review_of(&item), (Review::Pending, None));
    assert_eq!(forge.offer_head(id, &next, None).unwrap(), item, "again changes nothing");
    let pull = item.pull.as_ref().unwrap();
    assert_eq!(pull.head, next);
    let rounds: Vec<_> =
        pull.rounds.iter().map(|round| (round.head.as_str(), round.review.is_some())).collect();
    assert_eq!(rounds, [(rebased.as_str(), true), (next.as_str(), false)]);
}

pub(crate) fn only_the_reviewed_commit_is_merged(world: &dyn World) {
    let (forge, id, head) = opened(world, "feature/merge");
    world.forge(ada()).review(id, &head, Review::Approved, None).unwrap();
    let unreviewed = world.push(&world.unused("feature/merge"));
    forge.offer_head(id, &unreviewed, None).unwrap();
    let stale = merge(&*forge, id, &head);
    assert!(matches!(stale, Err(ForgeError::Conflict { .. })), "{stale:?}");
    let (item, pull) = forge.get(id).unwrap();
    assert_eq!((item.is_open(), pull.merged), (true, None), "nothing was merged");
    world.forge(ada()).review(id, &unreviewed, Review::Approved, None).unwrap();
    let item = merge(&*forge, id, &unreviewed).unwrap();
    assert!(!item.is_open() && item.pull.as_ref().unwrap().merged.is_some());
    assert_eq!(merge(&*forge, id, &unreviewed).unwrap(), item, "merged already is merged");
}

pub(crate) fn what_is_merged_stays_closed(world: &dyn World) {
    let (forge, id, head) = opened(world, "feature/over");
    let closed = forge.count_closed().unwrap();
    merge(&*forge, id, &head).unwrap();
    assert_eq!(forge.count_closed().unwrap(), closed + 1);
    assert!(!forge.pulls(Query::Open).unwrap().iter().any(|item| item.id == id));
    let merged = |done: Result<Arc<Item>, ForgeError>| {
        assert!(matches!(done, Err(ForgeError::Refused(Refusal::Merged { .. }))), "{done:?}");
    };
    merged(forge.offer_head(id, &"e".repeat(40), None));
    merged(world.forge(ada()).review(id, &head, Review::Approved, None));
    if forge.capabilities().shares_ids {
        merged(world.tracker(ada()).reopen(id));
    }
    forge.comment(id, "a word after the end", Some("after")).unwrap();
    assert_eq!(forge.comment(id, "again", Some("after")).unwrap().comments.len(), 1);
}

pub(crate) fn a_pull_request_is_closed_without_a_merge(world: &dyn World) {
    let (forge, id, head) = opened(world, "feature/closed");
    let item = world.forge(ada()).close(id, Some("twice")).unwrap();
    assert_eq!((item.is_open(), item.closed_because.as_deref()), (false, Some("twice")));
    assert_eq!(item.pull.as_ref().unwrap().merged, None);
    assert_eq!(forge.close(id, Some("thrice")).unwrap(), item);
    let marker = world.unused("pull:run-a:feature/closed");
    assert_eq!(forge.opened(&marker).unwrap(), Some(id), "it is found all the same");
    assert_eq!(forge.get(id).unwrap().1.head, head);
}
