//! What a verdict becomes by the rules.

use super::*;
use crate::{Earlier, diff};

fn finding(severity: Severity, location: &str) -> Finding {
    Finding { severity, location: location.to_owned(), description: format!("about {location}. More.") }
}

fn answer(verdict: Verdict, findings: &[Finding]) -> Answer {
    Answer {
        findings: findings.to_vec(),
        earlier: Vec::new(),
        follow_ups: Vec::new(),
        verdict,
        reason: format!("{} it is", verdict.words()),
    }
}

fn known(id: &str, severity: Severity) -> Known {
    Known {
        id: id.to_owned(),
        severity,
        location: "a.rs:1".to_owned(),
        description: "x".to_owned(),
        status: Status::New,
        is_placed: true,
    }
}

fn told(id: &str, status: Status) -> Earlier {
    Earlier { id: id.to_owned(), status, explanation: format!("{id} is {}", status.words()) }
}

/// Judges a first round.
fn first(answers: &[Answer]) -> Judgement {
    judge(Case { answers, earlier: &[], next: 1, delta: None }, |place| place.path == "a.rs")
}

/// Judges a later round in which lines 10 to 12 of `a.rs` have changed.
fn later(answers: &[Answer], earlier: &[Known]) -> Judgement {
    let delta = diff::lines(&diff::parse(
        "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -10 +10,3 @@\n x\n+y\n+z\n",
    ));
    judge(Case { answers, earlier, next: 3, delta: Some(&delta) }, |_| true)
}

use Severity::{Bug, Info, Nit, Warning};
use Verdict::{Approve, RequestChanges};

#[test]
fn a_bug_forbids_approval_and_nothing_else_does() {
    for (severity, verdict) in [(Bug, RequestChanges), (Warning, Approve), (Nit, Approve), (Info, Approve)] {
        let judged = first(&[answer(Approve, &[finding(severity, "a.rs:1")])]);
        assert_eq!(judged.verdict, verdict, "{severity:?}");
        assert_eq!(judged.notes.len(), usize::from(severity == Bug));
    }
    let judged = first(&[answer(Approve, &[finding(Bug, "a.rs:1")])]);
    assert_eq!(
        judged.notes,
        ["The reviewer approved, but 1 finding of severity `bug` is open, which forbids approval."]
    );
}

#[test]
fn the_verdict_is_the_worst_of_all_parts_with_its_reasons() {
    let parts = [answer(Approve, &[]), answer(RequestChanges, &[]), answer(RequestChanges, &[])];
    let judged = first(&parts);
    assert_eq!((judged.verdict, judged.reason.as_str()), (RequestChanges, "changes requested it is"));
    assert_eq!(first(&[answer(Approve, &[]), answer(Approve, &[])]).verdict, Approve);
}

#[test]
fn nothing_that_was_said_is_no_approval() {
    assert_eq!(first(&[]).verdict, RequestChanges);
}

#[test]
fn findings_are_numbered_worst_first_each_once_and_a_place_that_is_not_there_is_marked() {
    let parts = [
        answer(RequestChanges, &[finding(Nit, "a.rs:9"), finding(Warning, "b.rs:1")]),
        answer(RequestChanges, &[finding(Warning, "b.rs:1"), finding(Bug, "a.rs:2")]),
    ];
    let judged = first(&parts);
    let shown: Vec<_> = judged
        .findings
        .iter()
        .map(|known| (known.id.as_str(), known.location.as_str(), known.is_placed))
        .collect();
    assert_eq!(shown, [("F1", "a.rs:2", true), ("F2", "b.rs:1", false), ("F3", "a.rs:9", true)]);
    assert_eq!(judged.next, 4);
}

#[test]
fn an_earlier_bug_that_is_not_fixed_forbids_approval() {
    for (status, verdict) in
        [(Status::Fixed, Approve), (Status::NotFixed, RequestChanges), (Status::Partial, RequestChanges)]
    {
        let answers = [Answer { earlier: vec![told("F1", status)], ..answer(Approve, &[]) }];
        let judged = later(&answers, &[known("F1", Bug)]);
        assert_eq!((judged.verdict, judged.findings[0].status), (verdict, status));
        assert_eq!(judged.explanations, [("F1".to_owned(), format!("F1 is {}", status.words()))]);
    }
    // A warning may stay.
    let answers = [Answer { earlier: vec![told("F1", Status::NotFixed)], ..answer(Approve, &[]) }];
    assert_eq!(later(&answers, &[known("F1", Warning)]).verdict, Approve);
    // What nobody tells of is not fixed.
    assert_eq!(later(&[answer(Approve, &[])], &[known("F1", Bug)]).verdict, RequestChanges);
}

#[test]
fn of_two_words_about_a_finding_the_worse_counts() {
    let say = |status| Answer { earlier: vec![told("F1", status)], ..answer(Approve, &[]) };
    let judged = later(&[say(Status::Fixed), say(Status::Partial)], &[known("F1", Bug)]);
    assert_eq!((judged.findings[0].status, judged.verdict), (Status::Partial, RequestChanges));
}

#[test]
fn new_findings_in_old_code_are_follow_ups_and_no_reason_to_refuse() {
    let judged = later(&[answer(RequestChanges, &[finding(Bug, "a.rs:40"), finding(Bug, "b.rs:1")])], &[]);
    assert_eq!((judged.verdict, judged.findings.len()), (Approve, 0));
    assert_eq!(
        judged.follow_ups[0],
        FollowUp {
            title: "about a.rs:40".to_owned(),
            details: "bug at `a.rs:40`: about a.rs:40. More.".to_owned()
        }
    );
    assert_eq!((judged.follow_ups.len(), judged.notes.len()), (2, 2));
    // Beside something that is open they change nothing.
    let both = [finding(Bug, "a.rs:40"), finding(Nit, "a.rs:11")];
    let judged = later(&[answer(RequestChanges, &both)], &[]);
    assert_eq!((judged.verdict, judged.findings.len()), (RequestChanges, 1));
    assert_eq!(judged.findings[0].id, "F3");
}

#[test]
fn a_new_bug_in_what_has_changed_is_a_reason_to_refuse() {
    assert_eq!(later(&[answer(Approve, &[finding(Bug, "a.rs:12")])], &[]).verdict, RequestChanges);
}

#[test]
fn changes_that_are_requested_without_findings_stay_requested() {
    assert_eq!(first(&[answer(RequestChanges, &[])]).verdict, RequestChanges);
    assert_eq!(later(&[answer(RequestChanges, &[])], &[]).verdict, RequestChanges);
}

#[test]
fn a_flood_of_findings_is_cut_from_its_least_end() {
    let mut flood: Vec<Finding> = (0..60).map(|line| finding(Info, &format!("a.rs:{line}"))).collect();
    flood.push(finding(Bug, "a.rs:99"));
    let judged = first(&[answer(Approve, &flood)]);
    assert_eq!((judged.findings.len(), judged.findings[0].severity), (MOST_FINDINGS, Bug));
    assert_eq!(judged.notes[0], "21 findings of lesser severity were left out.");
}
