//! Before the first agent works: what the tests need is installed, they run on the base, and it is checked that they can
//! fail.
//!
//! What was found out is remembered by commit, command and environment. A question that is answered is looked up in the
//! run's records by the key that it was asked with, so nothing is asked twice.

use adapters::machine;
use engine::{Baseline, BaselineState, Event, Proof, Time};
use serde_json::{Map, Value, json};

use workspace::{Place, Shell, counted, spelled};

use super::{
    SuiteError,
    cache::{self, Cache, ProofStatus, TestRecord},
    judge, leads_back,
    plan::Plan,
    prepare::{self, Preparation, PrepareError},
    proof::{self, ProofResult},
    running,
};

/// How much of what failing tests print is shown with a question.
const OUTPUT_SHOWN: usize = 1500;

/// Kinds of questions.
const ENVIRONMENT: &str = "environment";
const BASELINE: &str = "baseline";
const PROOF: &str = "proof";
const CONTINUE: &str = "continue";
const ACCEPT: &str = "accept";
const STOP: &str = "stop";
/// The field of a question that says what it is about.
pub const KEY: &str = "key";

/// Whether an agent may start.
#[derive(Debug)]
pub enum BaselineResult {
    /// It may; what was done, a line each, and how the tests end.
    Baseline { said: Vec<String>, baseline: Box<Baseline> },
    /// A person is asked first.
    Ask(BaselineQuestion),
}

/// A question to a person about the baseline.
#[derive(Debug)]
pub struct BaselineQuestion {
    /// Steps taken, a line each.
    pub said: Vec<String>,
    pub question: Event,
    /// Data of the question.
    pub data: Map<String, Value>,
}

impl BaselineQuestion {
    fn of(said: Vec<String>, kind: &str, key: &str, question: String, options: &[&str]) -> Self {
        let question = Event::QuestionAsked {
            kind: kind.to_owned(),
            question,
            options: options.iter().map(|option| (*option).to_owned()).collect(),
        };
        Self { said, question, data: Map::from_iter([(KEY.to_owned(), json!(key))]) }
    }
}

/// State of a project's tests.
#[derive(Clone, Debug)]
pub struct BaselineReport {
    /// Steps taken, a line each.
    pub said: Vec<String>,
    /// Result on the base.
    pub baseline: Baseline,
    /// Why the tests are not proved to test this tree, if so.
    pub unproved: Option<String>,
}

/// Why the tests cannot be judged until a person acts.
enum Blocker {
    Environment(String),
    Failed(SuiteError),
}

impl From<SuiteError> for Blocker {
    fn from(error: SuiteError) -> Self {
        Self::Failed(error)
    }
}

/// Makes the tests ready before an agent works in a workspace of the run's own. Somebody who is `attended` decides about tests
/// that fail; `answered` returns what a person answered to the newest question of a kind about a key.
pub fn take<'a>(
    shell: &Shell,
    place: &Place,
    plan: &Plan,
    begun: Time,
    attended: bool,
    answered: impl Fn(&str, &str) -> Option<&'a str>,
) -> Result<BaselineResult, SuiteError> {
    let looked = install(shell, place, plan).and_then(|preparation| {
        leads_back::refuse(shell, place, &plan.test)?;
        look(shell, place, plan, preparation, Some(begun))
    });
    let (mut said, commit, environment, measured, cached) = match looked {
        Ok(found) => found,
        Err(Blocker::Environment(problem)) => return Ok(BaselineResult::Ask(environment_question(problem))),
        Err(Blocker::Failed(error)) => return Err(error),
    };
    let key = cache::key(&[&commit, &plan.test, &environment]);
    let mut baseline = baseline(plan, &commit, &key, &measured, cached);
    if !measured.passed {
        let tells = measured.report.tells_names() && !measured.report.failed.is_empty();
        let decided = answered(BASELINE, &key);
        if decided != Some(CONTINUE) && (attended || !tells) {
            let question = red(&baseline, &measured, tells);
            return Ok(BaselineResult::Ask(BaselineQuestion::of(
                said,
                BASELINE,
                &key,
                question,
                &[CONTINUE, STOP],
            )));
        }
        baseline.tolerated = tells;
    }
    said.push(format!("tests before the work: {baseline}"));
    if baseline.tolerated {
        said.push("only new failures count from here on".to_owned());
    }
    let proof_key = cache::key(&[&plan.test, &environment]);
    if plan.proof && (measured.passed || baseline.tolerated) {
        let accepted = answered(PROOF, &proof_key) == Some(ACCEPT);
        match settle(shell, place, plan, &measured, &baseline, &proof_key, accepted)? {
            (proof, Ok(line)) => {
                baseline.proof = proof;
                said.extend(line);
            }
            (_, Err(why)) => {
                let asked = BaselineQuestion::of(said, PROOF, &proof_key, unproved(&why), &[ACCEPT, STOP]);
                return Ok(BaselineResult::Ask(asked));
            }
        }
    }
    Ok(BaselineResult::Baseline { said, baseline: Box::new(baseline) })
}

/// Checks a project's tests outside of a run, in a slot that stands on its base. All is found out anew, but what a person has
/// accepted stays so.
pub fn check(shell: &Shell, place: &Place, plan: &Plan) -> Result<BaselineReport, String> {
    let looked =
        install(shell, place, plan).and_then(|preparation| look(shell, place, plan, preparation, None));
    let (mut said, commit, environment, measured, cached) = match looked {
        Ok(found) => found,
        Err(Blocker::Environment(problem)) => return Err(problem),
        Err(Blocker::Failed(error)) => return Err(error.to_string()),
    };
    let key = cache::key(&[&commit, &plan.test, &environment]);
    let mut baseline = baseline(plan, &commit, &key, &measured, cached);
    baseline.tolerated =
        !measured.passed && measured.report.tells_names() && !measured.report.failed.is_empty();
    let mut unproved = None;
    if measured.passed || baseline.tolerated {
        let proof_key = cache::key(&[&plan.test, &environment]);
        if let Some(cache) = Cache::of(&place.root)
            && cache.proof(&proof_key) == Some(ProofStatus::Proved)
        {
            cache.forget_proof(&proof_key).map_err(|error| error.to_string())?;
        }
        let settled = settle(shell, place, plan, &measured, &baseline, &proof_key, false);
        match settled.map_err(|error| error.to_string())? {
            (proof, Ok(line)) => {
                baseline.proof = proof;
                said.extend(line);
            }
            (_, Err(why)) => unproved = Some(why),
        }
    }
    Ok(BaselineReport { said, baseline, unproved })
}

/// What was looked at: what was said, the commit, its environment, how its tests ended and whether that was known.
type Looked = (Vec<String>, String, String, TestRecord, bool);

/// Installs what the tests need.
fn install(shell: &Shell, place: &Place, plan: &Plan) -> Result<Preparation, Blocker> {
    prepare::prepare(shell, place, plan).map_err(|error| match error {
        PrepareError::Fault(problem) => Blocker::Environment(problem),
        PrepareError::Failed { said, output } => {
            let how = "install what is missing, or set `setup_command` under [workflow] in warp.toml (`none` if the tests \
                       need nothing) and begin anew";
            Blocker::Environment(format!("{said}, so the tests cannot be run: {how}\n{output}"))
        }
        PrepareError::Other(error) => error.into(),
    })
}

/// Runs the tests on the commit that the tree stands on, unless how they end is known. Without `begun`, when the run began,
/// they are run in any case.
fn look(
    shell: &Shell,
    place: &Place,
    plan: &Plan,
    prepared: Preparation,
    begun: Option<Time>,
) -> Result<Looked, Blocker> {
    let commit = place.git().head_commit().map_err(SuiteError)?;
    let environment = prepared.environment;
    let key = cache::key(&[&commit, &plan.test, &environment]);
    let cache = Cache::of(&place.root);
    // Tests that failed in an earlier run may have lacked something that is there now.
    let is_good = |known: &TestRecord| begun.is_some_and(|begun| known.passed || known.at >= begun);
    if let Some(known) = cache.as_ref().and_then(|cache| cache.baseline(&key)).filter(is_good) {
        return Ok((prepared.said, commit, environment, known, true));
    }
    let before = place.git().untracked().map_err(SuiteError)?;
    let measured = measure(shell, place, plan);
    // What the tests leave at the base they leave again later, and it is no work of the agent's.
    prepare::keep_out(place, &before).map_err(SuiteError)?;
    discard(place)?;
    let measured = measured?;
    if let Some(cache) = cache {
        let failed =
            |error: std::io::Error| SuiteError(format!("how the tests ended cannot be noted: {error}"));
        cache.keep_baseline(&key, &measured).map_err(failed)?;
    }
    Ok((prepared.said, commit, environment, measured, false))
}

/// Removes what tests have left in the tree, in which nobody has worked yet.
fn discard(place: &Place) -> Result<(), SuiteError> {
    let Some(marker) = adapters::git::slot::marker(&place.root) else { return Ok(()) };
    adapters::git::slot::discard(&place.root, &marker.location).map_err(|error| SuiteError(spelled(&error)))
}

/// Runs the tests, and once more if they fail, so that those that fail now and then are known by name.
fn measure(shell: &Shell, place: &Place, plan: &Plan) -> Result<TestRecord, Blocker> {
    let first = running::line(shell, place, plan)?;
    let mut measured = first.measured();
    if first.passed {
        return Ok(measured);
    }
    // With some tests that pass, one that lacks something is a test that fails.
    if let Some(fault) =
        first.fault().filter(|fault| fault.outlives_a_baseline() || first.report.passed.is_empty())
    {
        return Err(Blocker::Environment(format!("{}: {fault}\n{}", first.said, first.output)));
    }
    let second = running::line(shell, place, plan)?;
    let (failing, flaky) = judge::compared(&first.report, &second.report);
    let seconds = measured.seconds + second.took.as_secs();
    measured = TestRecord { second: true, flaky, seconds, ..second.measured() };
    if !measured.passed && measured.report.tells_names() {
        measured.report.failed = if failing.is_empty() { measured.report.failed } else { failing };
    }
    Ok(measured)
}

fn baseline(plan: &Plan, commit: &str, key: &str, measured: &TestRecord, cached: bool) -> Baseline {
    let report = &measured.report;
    let counts = report.counts.unwrap_or_default();
    let failing = if measured.passed { Vec::new() } else { report.failed.clone() };
    Baseline {
        commit: commit.to_owned(),
        command: plan.test.clone(),
        state: match (measured.passed, measured.second) {
            (true, false) => BaselineState::Green,
            (true, true) => BaselineState::Flaky,
            (false, _) => BaselineState::Red,
        },
        passed: (report.passed.len() as u64).max(counts.passed),
        failed: (failing.len() as u64).max(if measured.passed { 0 } else { counts.failed }),
        skipped: (report.skipped.len() as u64).max(counts.skipped),
        failing,
        example: report.passed.first().cloned(),
        flaky: measured.flaky.clone(),
        tolerated: false,
        seconds: measured.seconds,
        cached,
        proof: Proof::Unknown,
        key: key.to_owned(),
        at: machine::now(),
    }
}

/// Finds out whether the tests can fail, unless that is settled; returns what is said of it, or why nothing shows it.
fn settle(
    shell: &Shell,
    place: &Place,
    plan: &Plan,
    measured: &TestRecord,
    baseline: &Baseline,
    key: &str,
    accepted: bool,
) -> Result<(Proof, Result<Option<String>, String>), SuiteError> {
    let cache = Cache::of(&place.root);
    let keep = |settled: ProofStatus| {
        let failed = |error: std::io::Error| {
            SuiteError(format!("what is known of the tests cannot be noted: {error}"))
        };
        cache.as_ref().map_or(Ok(()), |cache| cache.keep_proof(key, &settled).map_err(failed))
    };
    match cache.as_ref().and_then(|cache| cache.proof(key)) {
        Some(ProofStatus::Proved) => return Ok((Proof::Proved, Ok(None))),
        Some(ProofStatus::Accepted) => return Ok((Proof::Accepted, Ok(None))),
        None => {}
    }
    if accepted {
        keep(ProofStatus::Accepted)?;
        return Ok((Proof::Accepted, Ok(Some("the tests are accepted as they are".to_owned()))));
    }
    let baseline = Some(baseline).filter(|baseline| baseline.tolerated);
    match proof::prove(shell, place, plan, measured, baseline)? {
        ProofResult::Yes { files, seconds } => {
            keep(ProofStatus::Proved)?;
            let files = counted(files as u64, "source file", "source files");
            let line = format!("the tests can fail: with {files} broken they did, in {seconds} s");
            Ok((Proof::Proved, Ok(Some(line))))
        }
        ProofResult::No { why } => Ok((Proof::Unknown, Err(why))),
    }
}

/// Returns the question about an environment problem that no agent can fix.
pub fn environment_question(problem: String) -> BaselineQuestion {
    BaselineQuestion::of(Vec::new(), ENVIRONMENT, "", problem, &[CONTINUE, STOP])
}

/// Asks about tests that fail before anything was changed.
fn red(baseline: &Baseline, measured: &TestRecord, tells: bool) -> String {
    let then = if tells {
        "`continue`: only new failures count. `stop`: fix them first."
    } else {
        "Which tests fail cannot be told by name, so old failures cannot be told from new ones. `continue`: the work counts \
         as done once all tests pass. `stop`: fix them first, or let the command report names (`test_report` under [workflow])."
    };
    let output: String = {
        let skip = measured.output.chars().count().saturating_sub(OUTPUT_SHOWN);
        measured.output.chars().skip(skip).collect()
    };
    format!(
        "The tests fail before anything was changed, twice: {}. {then}\n{}\n{output}",
        baseline.counts(),
        measured.said
    )
}

/// Asks about tests of which nothing shows that they test the tree.
fn unproved(why: &str) -> String {
    format!(
        "Nothing shows that the tests test this code: {why}. So broken work could be merged. `accept`: take them as they are, \
         now and later, with this command and environment. `stop`: set `test_command` under [workflow] in warp.toml, or name \
         the report that the tests write (`test_report`), and begin anew."
    )
}
