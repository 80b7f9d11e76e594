//! What callers may rely on when a forge fails: nothing twice, nothing lost, and no error that looks like "none".

use forge::{
    APPROVED, Author, Checks as _, ChecksState, Edit, Forge as _, ForgeError, IssueFile, ItemId, Merge,
    NewItem, NewPull, Query, Readiness, Review, StepId, Tracker as _, candidates,
    fake::{Fake, FakeChecks, Fault},
    import, readiness, ready,
};

const ALL: [Fault; 5] = [Fault::Before, Fault::After, Fault::Timeout, Fault::Later, Fault::Unknown];
const HEAD: &str = "97165b483c";

fn fake() -> Fake {
    Fake::new(Author::person("Ada"))
}

/// Leads an issue and its pull request from one end to the other, as a driver does that repeats what failed.
fn lead(fake: &Fake) -> Result<(), ForgeError> {
    let body = "- [ ] one\n- [ ] two\n".to_owned();
    let id = fake.file(&NewItem::of("T", body, Default::default()), Some("import:1"))?.id;
    fake.edit(id, &Edit { title: Some("Title".to_owned()), ..Edit::default() })?;
    fake.ensure_labels(id, &["p1-critical"], &[])?;
    fake.approve(id)?;
    fake.assign(id, Some("run-a"))?;
    fake.tick(id, &["AC-01".to_owned(), "AC-02".to_owned()])?;
    fake.untick(id, &["AC-02".to_owned()])?;
    let warp = fake.by(Author::warp());
    let new = NewPull { issue: Some(id), run: Some("run-a".to_owned()), ..pull() };
    let pull = warp.ensure_pull(&new, "pull:run-a:1")?.id;
    if fake.get_pull(pull)?.merged.is_none() {
        warp.offer_head(pull, "another", None)?;
        fake.review(pull, "another", Review::Approved, None)?;
        warp.merge(pull, &Merge { head: "another", landed: Some("landed") })?;
    }
    forge::Tracker::comment(&warp, id, "Merged.", Some("merged:run-a"))?;
    forge::Tracker::close(&warp, id, Some("merged"))?;
    Ok(())
}

trait GetPull {
    fn get_pull(&self, id: ItemId) -> Result<forge::Pull, ForgeError>;
}

impl GetPull for Fake {
    fn get_pull(&self, id: ItemId) -> Result<forge::Pull, ForgeError> {
        Ok(forge::Forge::get(self, id)?.1)
    }
}

fn pull() -> NewPull {
    NewPull {
        title: "T".to_owned(),
        branch: "feature/a".to_owned(),
        target: "main".to_owned(),
        head: HEAD.to_owned(),
        ..NewPull::default()
    }
}

/// Says what is there in the end, but for the times.
fn end(fake: &Fake) -> Vec<String> {
    let mut items = fake.items(Query::All).unwrap();
    items.extend(fake.pulls(Query::All).unwrap());
    let said = |item: &forge::Item| {
        let comments: Vec<&str> = item.comments.iter().map(|comment| comment.text.as_str()).collect();
        let (labels, approved) = (&item.labels, &item.approved_by);
        let pull = item.pull.as_ref().map(|pull| (&pull.head, pull.review, &pull.merged, pull.rounds.len()));
        let (id, title, state, body) = (item.id, &item.title, item.state, &item.body);
        format!("{id:?} {title} {state:?} {body:?} {labels:?} {approved:?} {comments:?} {pull:?}")
    };
    items.iter().map(|item| said(item)).collect()
}

#[test]
fn a_write_that_failed_is_repeated_and_done_once() {
    let undisturbed = fake();
    lead(&undisturbed).unwrap();
    let wanted = end(&undisturbed);
    let verbs = [
        "file",
        "edit",
        "ensure_labels",
        "approve",
        "assign",
        "tick",
        "untick",
        "ensure_pull",
        "pull",
        "offer_head",
        "review",
        "merge",
        "comment",
        "close",
    ];
    for (verb, fault) in verbs.iter().flat_map(|verb| ALL.map(|fault| (verb, fault))) {
        let fake = fake();
        fake.fail(verb, fault);
        assert!(lead(&fake).is_err(), "{verb} {fault:?}");
        lead(&fake).unwrap();
        assert_eq!((end(&fake), fake.armed()), (wanted.clone(), 0), "{verb} {fault:?}");
    }
}

#[test]
fn a_lost_answer_is_no_refusal() {
    let fake = fake();
    for fault in [Fault::Before, Fault::After, Fault::Timeout] {
        fake.fail("file", fault);
        let lost = fake.file(&NewItem::default(), None);
        assert!(matches!(lost, Err(ForgeError::Unreachable(_) | ForgeError::Refused(_))), "{lost:?}");
    }
    fake.fail("file", Fault::Later);
    assert!(matches!(fake.file(&NewItem::default(), None), Err(ForgeError::Later { until: Some(_), .. })));
}

#[test]
fn what_cannot_be_told_is_never_none() {
    let fake = fake();
    let new = NewItem {
        labels: ["req", APPROVED].map(str::to_owned).into(),
        title: "T".to_owned(),
        ..NewItem::default()
    };
    let id = fake.file(&new, Some("m")).unwrap().id;
    let blocked = NewItem { body: format!("depends on #{id}"), ..new };
    let blocked = fake.file(&blocked, None).unwrap().id;
    for fault in ALL {
        fake.fail("item", fault);
        assert!(fake.item(id).is_err());
        fake.fail("item", fault);
        assert!(readiness(&fake, id).is_err(), "not missing");
        fake.fail("items", fault);
        assert!(fake.items(Query::Open).is_err(), "not empty");
        fake.fail("items", fault);
        assert!(candidates(&fake).is_err() && ready(&fake).is_ok());
        fake.fail("filed", fault);
        assert!(fake.filed("m").is_err(), "not unfiled");
        fake.fail("approval", fault);
        assert!(readiness(&fake, id).is_err(), "neither approved nor not");
        fake.fail("approval", fault);
        assert!(ready(&fake).unwrap().next().unwrap().is_err());
        fake.fail("pulls", fault);
        assert!(fake.pulls(Query::Open).is_err());
        fake.fail("opened", fault);
        assert!(fake.opened("pull:1").is_err());
        fake.fail("pull", fault);
        assert!(fake.pull(id).is_err());
        fake.fail("item", fault);
        let seen = fake.boxes(&id.to_string());
        assert!(matches!(seen, engine::Seen::Failed(_)), "{seen:?}");
    }
    assert_eq!(readiness(&fake, blocked).unwrap(), Readiness::Blocked { on: vec![id] });
    assert_eq!(fake.armed(), 0);
}

#[test]
fn a_file_whose_issue_cannot_be_looked_up_is_not_filed_twice() {
    let fake = fake();
    let from = IssueFile {
        file: "a.md".to_owned(),
        text: "# A\n".to_owned(),
        id: None,
        hoped_for: ItemId::typed("7"),
    };
    fake.fail("file", Fault::After);
    assert!(import(&fake, &from).is_err());
    for fault in ALL {
        fake.fail("filed", fault);
        assert!(import(&fake, &from).is_err());
    }
    assert!(import(&fake, &from).unwrap().was_there);
    assert_eq!(fake.items(Query::All).unwrap().len(), 1);
}

#[test]
fn checks_that_nobody_has_begun_have_not_passed() {
    let checks = FakeChecks::default();
    assert_eq!(checks.state(HEAD).unwrap(), ChecksState::NotStarted);
    let step = StepId { commit: HEAD.to_owned(), name: "unit".to_owned() };
    let failed = ChecksState::Failed(vec![step.clone()]);
    checks.say(HEAD, [ChecksState::Running, failed.clone()]);
    assert_eq!(
        [checks.state(HEAD).unwrap(), checks.state(HEAD).unwrap()],
        [ChecksState::Running, failed.clone()]
    );
    assert_eq!(checks.state(HEAD).unwrap(), failed);
    assert!(checks.log(&step).is_err());
    checks.print(step.clone(), "1 failed");
    assert_eq!(checks.log(&step).unwrap(), "1 failed");
    checks.restart(HEAD).unwrap();
    assert_eq!(checks.restarted(), [HEAD]);
}
