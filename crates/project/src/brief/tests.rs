//! What an agent in a session is told, in every phase of every built-in workflow, made from one fixed project.

use std::collections::BTreeMap;

use engine::{
    Beginning, Branches, Owner, Run, RunId, Settings, Time, Workflow, begin,
    view::{self, Owned},
    workflow::{self, Activity},
};

use super::{
    session::in_session,
    text::{Baseline, Chunk, Facts, Project, Subject},
};
use crate::prompts;

const ISSUE: &str = "# Greet by name\n\n- AC-01: `greet Ada` prints `hello, Ada`\n- AC-02: without a name it prints `hello, you`";
const PLAN: &str = "1. `greet.sh` takes a name.";
/// The most that a brief may be beside the texts of issue, plan and failure, in bytes.
const LARGEST: usize = 2048;

fn run(workflow: &Workflow, phase: &str) -> Run {
    let beginning = Beginning {
        id: RunId::new("7-greet"),
        settings: Settings::default(),
        root: "/project".to_owned(),
        owns_workspace: true,
        level: 3,
        owner: Owner::default(),
        github_user: String::new(),
        issue: Some("7".to_owned()),
        feature: None,
        branches: Branches::default(),
        found_test_command: None,
        found_setup_command: None,
        parent: None,
        dirty: BTreeMap::new(),
        at: Time::from_millis(0),
    };
    Run { phase: phase.into(), ..begin(workflow, beginning).run }
}

fn facts(workflow: &Workflow, phase: &str) -> Facts {
    let known = Facts {
        mark: "0123456789".to_owned(),
        subject: Subject { issue: Some("7".to_owned()), text: ISSUE.to_owned() },
        plan: Some(PLAN.to_owned()),
        project: Project {
            base: Some("1a2b3c4d5e".to_owned()),
            target: "main".to_owned(),
            test: Some("npm test".to_owned()),
            baseline: Some(Baseline { counts: "297 passed".to_owned(), seconds: 12, ..Baseline::default() }),
            ..Project::default()
        },
        ..Facts::default()
    };
    // As a Python project has it.
    let more = if phase == "spec_test" { vec![python()] } else { Vec::new() };
    with_run(Facts { more, ..known }, workflow, &run(workflow, phase))
}

fn python() -> String {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("pyproject.toml"), "").unwrap();
    suite::acceptance::advice(root.path(), &Settings::default())
}

fn with_run(known: Facts, workflow: &Workflow, run: &Run) -> Facts {
    let now = Time::from_millis(0);
    let standing = view::standing(workflow, run, Owned::Live, now);
    let guide = prompts::built_in(&workflow.name, run.phase.as_str()).unwrap_or_default();
    in_session(known, workflow, run, standing, guide, now)
}

fn phases() -> impl Iterator<Item = (Workflow, String)> {
    workflow::BUILT_IN.iter().flat_map(|built| {
        let workflow = Workflow::parse(built.text).unwrap();
        let names: Vec<String> = workflow.phases.iter().map(|phase| phase.name.to_string()).collect();
        names.into_iter().map(move |name| (workflow.clone(), name))
    })
}

#[test]
fn every_phase_of_every_workflow_has_its_text_for_a_session() {
    let mut large = Vec::new();
    for (workflow, phase) in phases() {
        let facts = facts(&workflow, &phase);
        insta::assert_snapshot!(format!("{}_{phase}", workflow.name), facts.parts().whole());
        let own = Facts { subject: Subject::default(), plan: None, ..facts };
        let own = own.parts().whole().len();
        if own > LARGEST {
            large.push(format!("{} {phase} has {own} bytes of its own", workflow.name));
        }
    }
    assert_eq!(large, Vec::<String>::new());
}

#[test]
fn in_the_last_phase_of_a_loop_an_agent_is_asked_once_the_pull_request_is_open() {
    let workflow = Workflow::built_in("autonomous-loop").unwrap();
    let mut run = run(&workflow, "ship");
    run.artifacts.pr_url = Some("#8".to_owned());
    let facts = with_run(facts(&workflow, "ship"), &workflow, &run);
    insta::assert_snapshot!("autonomous-loop_ship_with_a_pull_request", facts.parts().whole());
}

/// Whoever is told that git is read-only is told to commit nowhere else, and the other way round.
#[test]
fn no_text_for_a_session_contradicts_itself() {
    let orders = ["Commit ", "commit your", "commit what", "git push", "You commit", "you commit"];
    let read_only = ["Git is read-only", "ommits are refused", "Neither commit nor push"];
    for (workflow, phase) in phases() {
        // The pull request of a loop comes first.
        let is_agents =
            phase != "ship" && workflow.phase(&phase.as_str().into()).unwrap().activity == Activity::Agent;
        let may = workflow.phase(&phase.as_str().into()).unwrap().may.iter().any(|may| may == "git_commit");
        let text = facts(&workflow, &phase).parts().whole();
        let place = format!("{} {phase}: {text}", workflow.name);
        let has = |words: &[&str]| words.iter().any(|words| text.contains(words));
        assert_eq!(has(&orders), is_agents && may, "{place}");
        assert_eq!(has(&read_only), is_agents && !may, "{place}");
        assert!(!text.contains("Never call `warp state`") && !text.contains("JSON object, like"), "{place}");
    }
}

#[test]
fn a_session_is_told_what_is_new_and_where_the_run_stands() {
    let workflow = Workflow::built_in("warp-drive").unwrap();
    let first = facts(&workflow, "coding").parts();
    let chunk = Chunk { index: 1, count: 2, criteria: vec!["AC-01".to_owned()], met: Vec::new() };
    let later = Facts { chunk, said: vec!["use tabs".to_owned()], ..facts(&workflow, "coding") };
    let news = later.parts().since(&first.digests());
    assert!(news.starts_with("A warp-drive run is under way"), "{news}");
    assert!(news.contains("The criteria of this chunk: AC-01.") && news.contains("- use tabs"), "{news}");
    assert!(!news.contains(ISSUE) && !news.contains(PLAN), "{news}");
    let nothing = first.since(&first.digests());
    assert!(nothing.contains("It stands in phase `coding`") && nothing.contains("Nothing else"), "{nothing}");
}
