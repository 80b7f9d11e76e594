//! Receipts: proof that a phase did its work.
//!
//! A receipt names a file, a commit or both. Whatever it names is checked, whoever gives it; an agent has to
//! give what the phase's kind of receipt wants, a person is believed. Where a phase is left by force the
//! receipt says so.

use serde_json::{Map, Value};

use super::{Advice, Refused, acceptance, acts, draft::Draft};
use crate::{
    Actor, Ask, Change, Claim, CommitSeen, EventName, FileSeen, PhaseName, Probe, Receipt, Run, Seen, Time,
    Workflow,
    workflow::{Phase, ReceiptKind},
};

/// The gate's name in refusals.
const GATE: &str = "receipt";
/// How the note ends with which a phase is left in good order, but empty-handed.
const NOTHING_SHOWN: &str = "nothing was shown";

/// What comes with an event as the receipt of its phase.
#[derive(Clone, Debug, Default)]
struct Given {
    artifact: Option<String>,
    git_sha: Option<String>,
    timestamp: Option<Time>,
    summary: Option<String>,
    note: Option<String>,
    run: Option<TestRun>,
}

/// The run of tests that were just written: each must fail, and none for another reason.
#[derive(Clone, Copy, Debug)]
struct TestRun {
    passed: u64,
    failed: u64,
    errored: u64,
}

/// Names what has to be looked up for the receipt that comes with an event of `phase`.
pub(super) fn probes(workflow: &Workflow, run: &Run, data: &Map<String, Value>) -> Vec<Probe> {
    let Some(phase) = workflow.phase(&run.phase) else { return Vec::new() };
    match read(data) {
        Ok(given) => {
            let new = acceptance::new_tests(phase, given.artifact.as_deref());
            claim(phase, run, &given).map(Probe::Receipt).into_iter().chain(new).collect()
        }
        Err(_) => Vec::new(),
    }
}

/// Judges the receipt that comes with an event, and refuses an agent that lacks what the phase wants.
pub(super) fn check(workflow: &Workflow, run: &Run, ask: &Ask) -> Result<Vec<Advice>, Refused> {
    let given = read(&ask.data)?;
    let Some(phase) = workflow.phase(&run.phase) else { return Ok(Vec::new()) };
    let refuse = |problem: String| refusal(run, &ask.event.name(), problem);
    let wanted = phase.receipt.filter(|_| ask.actor == Actor::Agent);
    if let Some(kind) = wanted {
        is_whole(kind, phase, &given).map_err(refuse)?;
    }
    if wanted == Some(ReceiptKind::Tests) {
        match acceptance::judge_new(ask).map_err(refuse)? {
            acceptance::Looked::Seen => {}
            acceptance::Looked::Nothing => judge_told(phase, &given).map_err(refuse)?,
        }
    }
    if given.artifact.is_none() && given.git_sha.is_none() && wanted.is_none() {
        return Ok(Vec::new());
    }
    if let Some(time) = given.timestamp
        && (time.millis() / 1000 < run.entered_at().millis() / 1000 || time > ask.at.plus_minutes(1))
    {
        let (entered, now) = (run.entered_at().to_seconds(), ask.at.to_seconds());
        return Err(refuse(format!(
            "`timestamp` is not between the phase's beginning ({entered}) and now ({now})"
        )));
    }
    let claim = claim(phase, run, &given).unwrap_or_default();
    let seen = ask.observations.receipt(&claim);
    let mut advice = Vec::new();
    let file = match (&claim.artifact, seen.and_then(|seen| seen.file.as_ref())) {
        (None, _) => None,
        (Some(artifact), None) => return Err(refuse(format!("`{artifact}` was not looked at"))),
        (Some(artifact), Some(file)) => Some(judge_file(artifact, file).map_err(refuse)?),
    };
    let commit = match (&claim.git_sha, seen.and_then(|seen| seen.commit.as_ref())) {
        (None, _) => None,
        (Some(sha), None) => return Err(refuse(format!("commit `{sha}` was not looked at"))),
        (Some(sha), Some(commit)) => match (judge_commit(sha, commit), wanted) {
            (Ok(commit), _) => Some(commit),
            // There is nothing to look at: no news to an agent that named no commit, and a word to a person.
            (Err(Problem::Unseen(_)), Some(_)) if given.git_sha.is_none() => None,
            (Err(Problem::Unseen(why)), None) => {
                advice.push(Advice(format!("not checked: receipt: {why}")));
                None
            }
            (Err(Problem::Unseen(why) | Problem::Wrong(why)), _) => return Err(refuse(why)),
        },
    };
    if let Some(kind) = wanted {
        fits(kind, workflow, run, &given, file, commit).map_err(refuse)?;
    }
    Ok(advice)
}

/// Puts the receipt of the current phase on record; [`check`] has seen it.
pub(super) fn record(draft: &mut Draft<'_>, ask: &Ask) {
    let workflow = draft.workflow;
    let given = read(&ask.data).unwrap_or_default();
    let phase = workflow.phase(&draft.run.phase);
    let claim = phase.and_then(|phase| claim(phase, &draft.run, &given)).unwrap_or_default();
    let seen = ask.observations.receipt(&claim);
    let commit = match seen.and_then(|seen| seen.commit.as_ref()) {
        Some(Seen::Value(commit)) => Some(commit.hash.clone()),
        Some(Seen::Absent(_) | Seen::Failed(_)) | None => None,
    };
    let digest = match seen.and_then(|seen| seen.file.as_ref()) {
        Some(Seen::Value(file)) => file.digest.clone(),
        Some(Seen::Absent(_) | Seen::Failed(_)) | None => None,
    };
    let artifact = claim.artifact.filter(|_| given.artifact.is_some() || digest.is_some());
    if let (Some(artifact), Some(name)) = (&artifact, phase.and_then(|phase| phase.artifact.as_deref())) {
        let mut artifacts = draft.run.artifacts.clone();
        artifacts.set(name, artifact.clone());
        if artifacts != draft.run.artifacts {
            draft.change(Change::ArtifactsSet { artifacts });
        }
    }
    let git_sha = commit.or(given.git_sha).or_else(|| acts::head(ask));
    let makes_tests = phase.is_some_and(|phase| phase.receipt == Some(ReceiptKind::Tests));
    let runs = match &ask.observations.tests {
        Some(Seen::Value(runs)) if makes_tests => Some(runs),
        Some(Seen::Value(_) | Seen::Absent(_) | Seen::Failed(_)) | None => None,
    };
    let receipt = Receipt {
        phase: draft.run.phase.clone(),
        artifact,
        git_sha,
        // A clock that went back does not make it one of an earlier phase.
        timestamp: given.timestamp.unwrap_or_else(|| draft.at.max(draft.run.entered_at())),
        forced: false,
        digest,
        note: given.note,
        since: draft.run.phase_head.clone().filter(|_| makes_tests),
        plan: None,
        ran: runs.is_some(),
        command: runs.and_then(|runs| runs.first()).map(|run| run.command.clone()),
    };
    draft.change(Change::ReceiptAdded { receipt });
}

/// Puts a receipt on record for a phase that the engine left by itself.
pub(super) fn record_followed(draft: &mut Draft<'_>, phase: &PhaseName, reason: &str, forced: bool) {
    let workflow = draft.workflow;
    let planned =
        workflow.phase(phase).filter(|phase| phase.receipt == Some(ReceiptKind::Revision) && !forced);
    let revised = planned.and_then(|phase| {
        let claim = claim(phase, &draft.run, &Given::default())?;
        let before = earlier(workflow, &draft.run, phase).and_then(|receipt| receipt.digest.clone());
        match draft.seen.receipt(&claim)?.file.as_ref()? {
            Seen::Value(file) => Some((claim.artifact, file.digest.clone(), file.digest == before)),
            Seen::Absent(_) | Seen::Failed(_) => None,
        }
    });
    let (artifact, digest, same) = revised.unwrap_or((None, None, true));
    let note = (!forced && same).then(|| format!("{reason}: {NOTHING_SHOWN}"));
    let (phase, timestamp) = (phase.clone(), draft.at);
    let receipt = Receipt {
        phase,
        artifact,
        git_sha: None,
        timestamp,
        forced,
        digest,
        note,
        since: None,
        plan: None,
        ran: false,
        command: None,
    };
    draft.change(Change::ReceiptAdded { receipt });
}

/// Tells whether the current phase has its receipt already, as one that a person has looked at has.
pub(super) fn is_recorded(run: &Run) -> bool {
    let seconds = |time: Time| time.millis() / 1000;
    let is_of_now = |receipt: &Receipt| seconds(receipt.timestamp) >= seconds(run.entered_at());
    run.receipt(&run.phase).is_some_and(|receipt| !receipt.forced && is_of_now(receipt))
}

/// Returns the receipts on which a run's end depends: of each completed phase the newest, or none.
pub(super) fn required<'a>(workflow: &Workflow, run: &'a Run) -> Vec<(PhaseName, Option<&'a Receipt>)> {
    let is_required = |name: &&PhaseName| {
        let kind = workflow.phase(name).and_then(|phase| phase.receipt);
        kind.is_some_and(ReceiptKind::is_required)
    };
    let mut required: Vec<(PhaseName, Option<&Receipt>)> = Vec::new();
    for name in run.phases_completed.iter().filter(is_required) {
        if !required.iter().any(|(known, _)| known == name) {
            required.push((name.clone(), run.receipt(name)));
        }
    }
    required
}

impl Run {
    /// Returns the phases that were left in good order though nothing was shown for them, each once.
    pub fn shown_nothing(&self) -> Vec<&PhaseName> {
        let is_empty = |receipt: &Receipt| {
            !receipt.forced && receipt.note.as_deref().is_some_and(|note| note.ends_with(NOTHING_SHOWN))
        };
        let mut phases: Vec<&PhaseName> = Vec::new();
        for receipt in &self.receipts {
            let is_newest = self.receipt(&receipt.phase) == Some(receipt);
            if is_newest && is_empty(receipt) && !phases.contains(&&receipt.phase) {
                phases.push(&receipt.phase);
            }
        }
        phases
    }
}

/// Returns what has to be looked up to judge a recorded receipt again.
pub(super) fn claim_of(receipt: &Receipt) -> Option<Claim> {
    let names_something = receipt.artifact.is_some() || receipt.git_sha.is_some();
    (names_something && !receipt.forced).then(|| Claim {
        artifact: receipt.artifact.clone(),
        git_sha: receipt.git_sha.clone(),
        since: None,
    })
}

/// Judges a recorded receipt again; the error says what is wrong with it.
pub(super) fn judge_again(receipt: &Receipt, ask: &Ask) -> Result<Option<Advice>, String> {
    let Some(claim) = claim_of(receipt) else { return Ok(None) };
    let Some(seen) = ask.observations.receipt(&claim) else { return Err("it was not looked at".to_owned()) };
    if let (Some(artifact), Some(file)) = (&claim.artifact, &seen.file) {
        judge_file(artifact, file)?;
    }
    if let (Some(sha), Some(commit)) = (&claim.git_sha, &seen.commit) {
        match judge_commit(sha, commit) {
            Ok(_) => {}
            Err(Problem::Unseen(why)) => return Ok(Some(Advice(format!("not checked: receipt: {why}")))),
            Err(Problem::Wrong(why)) => return Err(why),
        }
    }
    Ok(None)
}

/// Says in words what proves a phase of this kind done.
pub(crate) fn wants(kind: ReceiptKind) -> &'static str {
    match kind {
        ReceiptKind::File => "a file in the repository that is not empty (`artifact`)",
        ReceiptKind::Tests => {
            "the committed acceptance tests (`artifact`, `git_sha`): warp runs them, and every one fails and none errors (where it cannot, `run` says so)"
        }
        ReceiptKind::Revision => "the plan with another content than before, or a `note` why it stays",
        ReceiptKind::Commit => "a commit made in this phase (`git_sha`), or a `note` why there is none",
        ReceiptKind::Summary => "a `summary`",
    }
}

/// Returns data that would prove a phase of this kind done.
pub(crate) fn example(phase: &Phase) -> Option<String> {
    let file = match phase.artifact.as_deref() {
        Some("brainstorm_file") => "docs/brainstorms/DATE-TOPIC-brainstorm.md",
        Some("plan_file") => "docs/plans/DATE-TYPE-NAME-plan.md",
        Some("acceptance_tests_file") => "tests/acceptance/DATE-FEATURE-acceptance.EXT",
        Some(_) | None => "docs/solutions/CATEGORY/NAME.md",
    };
    let words = "\"summary\":\"WHAT WAS DONE\",\"failed_approaches\":[\"WHAT DID NOT WORK, AND WHY\"]";
    Some(match phase.receipt? {
        ReceiptKind::File => format!("{{\"artifact\":\"{file}\",{words}}}"),
        ReceiptKind::Tests => {
            format!(
                "{{\"artifact\":\"{file}\",\"git_sha\":\"COMMIT\",\"run\":{{\"failed\":7,\"errored\":0}},{words}}}"
            )
        }
        ReceiptKind::Commit => format!("{{\"git_sha\":\"COMMIT\",{words}}}"),
        ReceiptKind::Revision | ReceiptKind::Summary => format!("{{{words}}}"),
    })
}

fn refusal(run: &Run, event: &EventName, reason: String) -> Refused {
    Refused::Gate { phase: run.phase.clone(), event: event.clone(), gate: GATE.to_owned(), reason }
}

/// Returns what of a receipt can be looked up; what the phase implies is filled in.
fn claim(phase: &Phase, run: &Run, given: &Given) -> Option<Claim> {
    let known = phase.artifact.as_deref().and_then(|name| run.artifacts.entry(name)).map(str::to_owned);
    let mut claim = Claim { artifact: given.artifact.clone(), git_sha: given.git_sha.clone(), since: None };
    match phase.receipt {
        Some(ReceiptKind::Revision) => claim.artifact = claim.artifact.or(known),
        Some(ReceiptKind::Commit) => {
            // Without a word to the contrary the newest commit is meant.
            if given.note.is_none() {
                claim.git_sha = claim.git_sha.or_else(|| Some("HEAD".to_owned()));
            }
            claim.since.clone_from(&run.phase_head);
        }
        Some(ReceiptKind::File | ReceiptKind::Tests | ReceiptKind::Summary) | None => {}
    }
    (claim.artifact.is_some() || claim.git_sha.is_some()).then_some(claim)
}

/// Tells what an agent left out of a receipt.
fn is_whole(kind: ReceiptKind, phase: &Phase, given: &Given) -> Result<(), String> {
    let example = || example(phase).map(|example| format!(", like --data '{example}'")).unwrap_or_default();
    let lacks = |what: &str| Err(format!("{what} is missing; it wants {}{}", wants(kind), example()));
    match kind {
        ReceiptKind::File | ReceiptKind::Tests if given.artifact.is_none() => lacks("`artifact`"),
        ReceiptKind::Tests if given.git_sha.is_none() => lacks("`git_sha`"),
        ReceiptKind::Summary if given.summary.is_none() => lacks("`summary`"),
        ReceiptKind::File
        | ReceiptKind::Tests
        | ReceiptKind::Summary
        | ReceiptKind::Revision
        | ReceiptKind::Commit => Ok(()),
    }
}

/// Judges what an agent says of its own run of new tests, where warp could not run them.
fn judge_told(phase: &Phase, given: &Given) -> Result<(), String> {
    match given.run {
        None => {
            let wanted = wants(ReceiptKind::Tests);
            let example = example(phase).unwrap_or_default();
            Err(format!("`run` is missing; it wants {wanted}, like --data '{example}'"))
        }
        Some(TestRun { failed: 0, .. }) => {
            Err("no test failed in the run: tests come first, so each must fail".to_owned())
        }
        Some(TestRun { passed, errored, .. }) if passed > 0 || errored > 0 => Err(format!(
            "passed: {passed}, errors: {errored}; every new test must fail, and none by an error"
        )),
        Some(_) => Ok(()),
    }
}

/// Tells what of an agent's receipt does not fit its phase.
fn fits(
    kind: ReceiptKind,
    workflow: &Workflow,
    run: &Run,
    given: &Given,
    file: Option<&FileSeen>,
    commit: Option<&CommitSeen>,
) -> Result<(), String> {
    match kind {
        ReceiptKind::File | ReceiptKind::Summary => Ok(()),
        ReceiptKind::Tests => match file.and_then(|file| file.at_commit) {
            Some(_) => Ok(()),
            None => Err("the tests are not in the commit `git_sha`: commit them first".to_owned()),
        },
        ReceiptKind::Revision => {
            let phase = workflow.phase(&run.phase);
            let before = phase.and_then(|phase| earlier(workflow, run, phase)?.digest.as_ref());
            let now = file.and_then(|file| file.digest.as_ref());
            match (before, now) {
                _ if given.note.is_some() => Ok(()),
                (Some(before), Some(now)) if before == now => {
                    Err("the plan's content is what it was; deepen it, or say why not with `note`".to_owned())
                }
                (_, None) => {
                    Err("the plan could not be found; name it with `artifact`, or say why not with `note`"
                        .to_owned())
                }
                (_, Some(_)) => Ok(()),
            }
        }
        ReceiptKind::Commit => match commit {
            None if given.note.is_some() => Ok(()),
            None => Err("there is no commit to look at; say why with `note`".to_owned()),
            Some(commit) => {
                // Git counts in seconds.
                let is_after = commit.at.millis() / 1000 >= run.entered_at().millis() / 1000;
                if commit.is_new.unwrap_or(is_after) || given.note.is_some() {
                    return Ok(());
                }
                let hash = commit.hash.get(..10).unwrap_or(&commit.hash);
                Err(format!(
                    "commit `{hash}` was made before `{}` began; commit the work, or say why there is none with `note`",
                    run.phase
                ))
            }
        },
    }
}

/// Returns the receipt that a revision is compared with: of an earlier phase, about the same artifact.
fn earlier<'a>(workflow: &Workflow, run: &'a Run, phase: &Phase) -> Option<&'a Receipt> {
    let is_about = |receipt: &&Receipt| {
        let made_by = workflow.phase(&receipt.phase);
        made_by.is_some_and(|made_by| made_by.name != phase.name && made_by.artifact == phase.artifact)
    };
    run.receipts.iter().rev().find(is_about)
}

fn judge_file<'a>(artifact: &str, seen: &'a Seen<FileSeen>) -> Result<&'a FileSeen, String> {
    let file = match seen {
        Seen::Value(file) => file,
        Seen::Absent(why) | Seen::Failed(why) => {
            return Err(format!("`{artifact}` could not be looked at: {why}"));
        }
    };
    if !file.is_inside {
        return Err(format!("`{artifact}` is not a file inside the repository"));
    }
    match (file.in_tree, file.at_commit) {
        (None, None) => {
            Err(format!("`{artifact}` does not exist, neither in the working tree nor in the commit"))
        }
        (Some(0), _) | (None, Some(0)) => Err(format!("`{artifact}` is empty")),
        (Some(_), _) | (None, Some(_)) => Ok(file),
    }
}

/// What can be wrong with a commit.
enum Problem {
    /// There is nothing to look at.
    Unseen(String),
    Wrong(String),
}

fn judge_commit<'a>(sha: &str, seen: &'a Seen<CommitSeen>) -> Result<&'a CommitSeen, Problem> {
    match seen {
        Seen::Value(commit) if commit.is_in_history => Ok(commit),
        Seen::Value(_) => {
            Err(Problem::Wrong(format!("commit `{sha}` is not in the history of the current commit")))
        }
        Seen::Absent(why) => Err(Problem::Unseen(format!("commit `{sha}`: {why}"))),
        Seen::Failed(why) => Err(Problem::Wrong(format!("commit `{sha}` cannot be used: {why}"))),
    }
}

/// Reads what comes with an event as its receipt: fields of their own, or under `receipt`.
fn read(data: &Map<String, Value>) -> Result<Given, Refused> {
    let nested = match data.get("receipt") {
        None | Some(Value::Null) => None,
        Some(Value::Object(fields)) => Some(fields),
        Some(_) => return Err(Refused::data("receipt", "must be a table with `artifact` and `git_sha`")),
    };
    let text = |field: &str| -> Result<Option<String>, Refused> {
        let own = acts::text(data, field)?;
        let nested = nested.map(|fields| acts::text(fields, field)).transpose()?.flatten();
        Ok(own.or(nested).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()))
    };
    let git_sha = text("git_sha")?;
    let is_hash =
        |sha: &String| (4..=64).contains(&sha.len()) && sha.bytes().all(|byte| byte.is_ascii_hexdigit());
    if git_sha.as_ref().is_some_and(|sha| !is_hash(sha)) {
        return Err(Refused::data("git_sha", "must be a commit's hash, 4 to 64 hexadecimal digits"));
    }
    let timestamp = text("timestamp")?.map(|text| Time::parse(&text)).transpose();
    let timestamp =
        timestamp.map_err(|_| Refused::data("timestamp", "must be a time, like 2026-02-13T10:30:00Z"))?;
    Ok(Given {
        artifact: text("artifact")?,
        git_sha,
        timestamp,
        summary: text("summary")?,
        note: text("note")?,
        run: read_run(data)?,
    })
}

fn read_run(data: &Map<String, Value>) -> Result<Option<TestRun>, Refused> {
    let Some(value) = data.get("run").filter(|run| !run.is_null()) else { return Ok(None) };
    let shape = || Refused::data("run", "must tell how the tests ended, like {\"failed\":7,\"errored\":0}");
    let count = |field: &str| match value.get(field) {
        None => Ok(None),
        Some(number) => number.as_u64().map(Some).ok_or_else(shape),
    };
    let failed = count("failed")?.ok_or_else(shape)?;
    let errored = count("errored")?.ok_or_else(shape)?;
    Ok(Some(TestRun { passed: count("passed")?.unwrap_or(0), failed, errored }))
}
