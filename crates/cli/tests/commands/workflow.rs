use crate::{json, sandbox};

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
    assert!(
        sandbox
            .warp_ok(&["workflow", "list"])
            .contains("triage           .warp/workflows/triage.toml  Sorts an issue\n")
    );
    sandbox.warp_ok(&["state", "init", ".", "--workflow", "triage", "--issue", "1"]);
    // The run is pinned: what is written into the tree afterwards changes nothing for it.
    sandbox.write(".warp/workflows/triage.toml", TRIAGE.replace("looked_at", "waved_at"));
    sandbox.transitions(&["looked_at"]);
    let said = sandbox.warp(&["state", "init", ".", "--workflow", "nope", "--issue", "1"]);
    assert_eq!(said.code, Some(64));
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
        let said = sandbox.warp(&["workflow", "check", "bad.toml"]);
        assert_eq!(said.code, Some(65));
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
