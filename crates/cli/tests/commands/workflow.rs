use testkit::driven::Driven;

use super::{json, sandbox};
use crate::support::{Ends as _, InProject as _};

const PAGE: &str = include_str!("../../../../docs/workflows.md");

#[test]
fn the_built_in_workflows_are_listed_and_shown_for_other_tools() {
    let sandbox = sandbox();
    let names = json(&sandbox.warp_ok(&["workflow", "list", "--json"]));
    let names: Vec<&str> =
        names.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["warp-drive", "coder", "autonomous-loop", "factory"]);
    for (name, initial, finals, phases, transitions) in [
        ("warp-drive", "prerequisites", vec!["completed"], 19, 46),
        ("coder", "WAITING", vec!["DONE"], 13, 38),
        ("autonomous-loop", "brainstorm", vec!["ship"], 11, 13),
        ("factory", "backlog", vec!["done", "failed"], 9, 27),
    ] {
        let shown = json(&sandbox.warp_ok(&["workflow", "show", name, "--json"]));
        assert_eq!(shown["initial"], initial);
        assert_eq!(shown["final"], serde_json::json!(finals));
        assert_eq!(shown["phases"].as_array().unwrap().len(), phases);
        assert_eq!(shown["transitions"].as_array().unwrap().len(), transitions);
        assert!(sandbox.warp_ok(&["workflow", "check", name]).ends_with("so every run ends\n"));
        assert!(sandbox.warp_ok(&["workflow", "graph", name]).starts_with("stateDiagram-v2\n"));
        assert!(
            sandbox.warp_ok(&["workflow", "table", name]).starts_with("| Phase | Event | Next phase |\n")
        );
    }
}

const TRIAGE: &str = r#"
name = "triage"
purpose = "Sorts an issue"
initial = "new"
final = ["sorted"]

[deadline]
minutes = 60
outcome = "park"

[[phase]]
name = "new"
purpose = "Not looked at"
activity = "person"
on = [{ event = "looked_at", to = "sorted" }]

[[phase]]
name = "sorted"
purpose = "Has labels"
activity = "engine"
"#;

#[test]
fn a_project_can_add_and_replace_workflows() {
    let sandbox = sandbox();
    sandbox.write(".warp/workflows/triage.toml", TRIAGE);
    insta::assert_snapshot!(sandbox.seen(&["workflow", "list"]), @"
    warp-drive       built in    Turns approved issues into merged commits, one to three acceptance criteria at a time
    coder            built in    One story from task to merge: plan, review, code, test, fix, review, merge
    autonomous-loop  built in    One feature from brainstorm to pull request, with acceptance tests written first
    factory          built in    One issue from backlog to a merged pull request: claim, checks, review, rework, merge
    triage           .warp/workflows/triage.toml  Sorts an issue
    ");
    sandbox.warp_ok(&["state", "init", ".", "--workflow", "triage", "--issue", "1"]);
    // The run is pinned: what is written into the tree afterwards changes nothing for it.
    sandbox.write(".warp/workflows/triage.toml", TRIAGE.replace("looked_at", "waved_at"));
    sandbox.transitions(&["looked_at"]);
    let said = sandbox.warp(&["state", "init", ".", "--workflow", "nope", "--issue", "1"]).ends(64);
    assert_eq!(
        said.err,
        "error: there is no workflow `nope`; there are warp-drive, coder, autonomous-loop, factory, triage\n"
    );
}

#[test]
fn a_workflow_that_cannot_be_run_is_refused_with_the_path() {
    let sandbox = sandbox();
    let refused = |change: (&str, &str), why: &str| {
        sandbox.write("bad.toml", TRIAGE.replace(change.0, change.1));
        let said = sandbox.warp(&["workflow", "check", "bad.toml"]).ends(65);
        assert!(said.err.contains(why), "{}", said.err);
    };
    let unreachable = "[[phase]]\nname = \"island\"\npurpose = \"x\"\nactivity = \"engine\"\non = [{ event = \"swim\", to = \"sorted\" }]\n\n[[phase]]\nname = \"sorted\"";
    refused(
        ("[[phase]]\nname = \"sorted\"", unreachable),
        "unreachable phase `island`: no path from `new` leads there",
    );
    refused(("to = \"sorted\"", "to = \"lost\""), "unknown phase `lost`: new --looked_at--> lost");
    refused(
        ("to = \"sorted\" }]", "to = \"sorted\" }, { event = \"again\", to = \"new\" }]"),
        "unbounded cycle: new --again--> new",
    );
    refused(("[deadline]\nminutes = 60\noutcome = \"park\"\n", ""), "wait without a deadline: new");
    let dead_end = "[{ event = \"looked_at\", to = \"sorted\" }, { event = \"lose\", to = \"lost\" }]\n\n[[phase]]\nname = \"lost\"\npurpose = \"x\"\nactivity = \"engine\"";
    refused(
        ("[{ event = \"looked_at\", to = \"sorted\" }]", dead_end),
        "dead end: new --lose--> lost, and no final phase",
    );
    refused(("purpose = \"Sorts", "pupose = \"Sorts"), "TOML parse error at line 3, column 1");
}

/// Returns the example of docs/workflows.md.
fn example() -> &'static str {
    let (_, from) = PAGE.split_once("```toml\n").expect("the page has an example");
    from.split_once("```").expect("the example ends").0
}

#[test]
fn the_example_of_the_page_can_be_run() {
    let driven = Driven::with_issue(env!("CARGO_BIN_EXE_warp"), 1, 1);
    let sandbox = &driven.sandbox;
    sandbox.write(".warp/workflows/quick.toml", example());
    let said = sandbox.warp_ok(&["workflow", "check", ".warp/workflows/quick.toml"]);
    assert!(said.starts_with("quick: 8 phases") && said.ends_with("so every run ends\n"), "{said}");
    sandbox.commit("chore: a workflow");
    driven.script(
        "[[turn]]\nphase = \"changing\"\nsteps = [{ write = \"file1.txt\", text = \"word1\\n\" }]\n\
         answer = { event = \"changed\", data = {} }\n",
    );
    driven.run(&["42", "--workflow", "quick", "--level", "3"]).ends(0);
    assert_eq!(sandbox.git(&["show", "main:file1.txt"]), "word1");
}

#[test]
fn the_page_names_every_field_and_every_word_of_a_workflow() {
    let sandbox = sandbox();
    let on = "on = [{ event = \"prerequisites_ok\", to = \"selecting\"";
    for (from, to) in [
        ("name = \"quick\"", "name = \"quick\"\nzzz = 1"),
        ("[deadline]", "[deadline]\nzzz = 1"),
        ("[deadline]", "initial_when = { zzz = 1 }\n[deadline]"),
        ("[deadline]", "subject = \"zzz\"\n[deadline]"),
        ("[deadline]", "state_file = \"zzz\"\n[deadline]"),
        ("[deadline]", "[[tick]]\nzzz = 1\n[deadline]"),
        ("[deadline]", "[[question]]\nzzz = 1\n[deadline]"),
        ("[deadline]", "[deferral]\nzzz = 1\n[deadline]"),
        ("[[budget]]", "[[budget]]\nzzz = 1"),
        ("limit = 3", "limit = 3\ntrips = \"zzz\""),
        ("counter = \"tries\"", "measure = \"zzz\""),
        ("outcomes = [{", "outcomes = [{ zzz = 1,"),
        ("[[phase]]", "[[phase]]\nzzz = 1"),
        ("activity = \"engine\"", "activity = \"zzz\""),
        ("does = \"check_prerequisites\"", "does = \"zzz\""),
        ("role = \"coder\"", "receipt = \"zzz\""),
        ("role = \"coder\"", "artifact = \"zzz\""),
        (on, &format!("{on}, zzz = 1")),
        (on, &format!("{on}, by = \"zzz\"")),
        (on, &format!("{on}, gate = \"zzz\"")),
        (on, &format!("{on}, evidence = \"zzz\"")),
        (on, &format!("{on}, tests = \"zzz\"")),
        (on, &format!("{on}, tool = \"zzz\"")),
        (on, &format!("{on}, acts = [\"zzz\"]")),
    ] {
        assert!(example().contains(from), "{from}");
        sandbox.write("bad.toml", example().replacen(from, to, 1));
        let said = sandbox.warp(&["workflow", "check", "bad.toml"]).err;
        let known = said.split_once("expected ").or_else(|| said.split_once("; there are "));
        let (_, known) = known.unwrap_or_else(|| panic!("{to}: {said}"));
        for word in known.split([',', ' ', '\n']).map(|word| word.trim_matches('`')) {
            let is_said = ["one", "of", "or", ""].contains(&word) || PAGE.contains(&format!("`{word}`"));
            assert!(is_said, "docs/workflows.md does not name `{word}`: {said}");
        }
    }
}
