//! The loop that a project has copied under another name, with all its phases and events renamed, builds the same.

use engine::workflow::BUILT_IN;

use super::support::{FEATURE, Project, said};
use crate::renamed;

const WORKFLOW: &str = "autonomous-loop";

/// Builds the feature by the built-in loop, or by its renamed copy, with one fix; returns what came of it.
fn built(is_renamed: bool) -> (Option<i32>, Vec<String>, String, String) {
    let mark = if is_renamed { renamed::MARK } else { "" };
    let (project, name) = (Project::new(), format!("{mark}{WORKFLOW}"));
    let sandbox = &project.sandbox;
    if is_renamed {
        let built_in = BUILT_IN.iter().find(|built_in| built_in.name == WORKFLOW).unwrap();
        sandbox.write(&format!(".warp/workflows/{name}.toml"), renamed::renamed(built_in.text));
        sandbox.git(&["add", "--all"]);
        sandbox.git(&["commit", "--quiet", "-m", "chore: a workflow"]);
    }
    project.otherwise(&format!(
        r#"WARP_PHASE=${{WARP_PHASE#{mark}}}
        case $WARP_PHASE$n in
        review1) answer '{{"summary":"one P1","findings":[{{"severity":"p1","file":"greet","line":2,"text":"no name"}}]}}' ;;
        test*) answer '{{"event":"{mark}tests_passed","summary":"it greets as a user would see"}}' ;;
        esac"#
    ));
    let ended = said(project.command_of(&["--workflow", &name, FEATURE, "--skip-test-review"]));
    let log = project.log();
    let events =
        log.iter().map(|row| format!("{} {}", row["event"], row["phase"]).replace(mark, "")).collect();
    let pull = sandbox.warp(&["pr", "show", "1"]).out;
    let subjects = sandbox.git(&["log", "--format=%s", "main..feature/add-a-greeting"]);
    assert!(ended.code == Some(0) && pull.contains(FEATURE), "{name}: {ended:?}\n{events:#?}", events = log);
    (ended.code, events, subjects.replace(mark, ""), pull.lines().next().unwrap_or_default().to_owned())
}

#[test]
fn the_loop_by_other_names_builds_the_same() {
    assert_eq!(built(true), built(false));
}
