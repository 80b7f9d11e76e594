//! Who a setting belongs to: an agent whose change is merged cannot switch off checks and caps for the next issue.

use testkit::{Said, driven::Driven};

use super::WARP;

/// Runs issue 42 at level 3 with an agent that does `steps` before it meets its criterion.
fn hostile(driven: &Driven, steps: &str) -> Said {
    let plan = "[[turn]]\nphase = \"planning\"\nanswer = { approach = \"x\" }\n";
    driven.script(&format!("{plan}{}", Driven::coding_turn(1, 1..=1, steps)));
    driven.run(&["42", "--level", "3", "--set", "decision_timeout_minutes=0"])
}

fn write(file: &str) -> String {
    format!("  {{ write = \"{file}\", text = \"x: 1\\n\" }},\n")
}

/// Commits a project's settings to the merge target, as a merge would.
fn merged(driven: &Driven, settings: &str) {
    driven.sandbox.write("warp.toml", settings);
    driven.sandbox.git(&["add", "--all"]);
    driven.sandbox.git(&["commit", "--quiet", "--allow-empty", "-m", "chore: settings"]);
}

#[test]
fn review_paths_are_handed_to_a_person_instead_of_merged() {
    let link = "  { run = \"mkdir -p ci/workflows && : > ci/workflows/x.yml && ln -s ci .github\" },\n";
    for (steps, named) in [
        (write("warp.toml").as_str(), "warp.toml"),
        (&write(".github/workflows/ci.yml"), ".github/workflows/ci.yml"),
        (&write(".GitHub/Workflows/ci.yml"), ".GitHub/Workflows/ci.yml"),
        (&write(".gitlab-ci.yml"), ".gitlab-ci.yml"),
        (&write(".cursor/mcp.json"), ".cursor/mcp.json"),
        (&write("tools/Jenkinsfile"), "tools/Jenkinsfile"),
        (&write(".githooks/pre-commit"), ".githooks/pre-commit"),
        (&write(".warp/prompts/warp-drive/coding.md"), ".warp/prompts/warp-drive/coding.md"),
        (link, ".github"),
    ] {
        let driven = Driven::with_issue(WARP, 1, 1);
        let before = driven.sandbox.git(&["rev-parse", "main"]);
        let said = hostile(&driven, steps);
        let why = format!("not merged: it changes {named}, which only a person merges (`review_paths`)");
        assert!(said.code == Some(0) && said.out.contains(&why), "{named}: {said:?}");
        assert_eq!(driven.sandbox.git(&["rev-parse", "main"]), before, "{named}");
        let shown = driven.sandbox.warp_ok(&["pr", "show", "44"]);
        let top = format!("For a person to review and merge: this changes {named}.");
        let body = shown.find(&top).unwrap_or_else(|| panic!("{named}: {shown}"));
        assert!(shown.find("For #42.").is_none_or(|rest| body < rest), "it is at the top: {shown}");
    }
}

#[test]
fn review_paths_leave_documentation_and_code_alone_and_a_project_can_add_to_them() {
    let driven = Driven::with_issue(WARP, 1, 1);
    let said = hostile(&driven, &[write("AGENTS.md"), write("docs/ci.md"), write("src/hooks.rs")].concat());
    assert!(said.code == Some(0) && said.out.contains("merged"), "{said:?}");
    assert!(driven.sandbox.git(&["ls-tree", "-r", "--name-only", "main"]).contains("AGENTS.md"), "{said:?}");

    for path in ["ops/prod.tf", "warp.toml"] {
        let driven = Driven::with_issue(WARP, 1, 1);
        merged(&driven, "[workflow]\nreview_paths = [\"ops/\"]\n");
        let said = hostile(&driven, &write(path));
        assert!(said.out.contains(&format!("not merged: it changes {path}")), "{path}: {said:?}");
    }
}

#[test]
fn checks_and_caps_of_the_person_hold_whatever_was_merged() {
    for (loosened, stays) in [
        ("test_before_commit = false", "`test_before_commit` stays true (the built-in safety default)"),
        ("budget_limit_usd = 0", "`budget_limit_usd` stays 20 (the built-in safety default)"),
        ("metering = false", "`metering` stays true (the built-in safety default)"),
        ("daily_usd = 0", "`daily_usd` stays 5 (set in "),
        ("commit_guard = false", "`commit_guard` stays true"),
        ("guard_max_file_mb = 100000", "`guard_max_file_mb` stays 5"),
        ("pre_exit_verification = false", "`pre_exit_verification` stays true"),
        ("max_total_chunks = 4000000000", "`max_total_chunks` stays 30 (set in "),
    ] {
        let driven = Driven::with_issue(WARP, 1, 1);
        let own = "[workflow]\ndaily_usd = 5\nmax_total_chunks = 30\n";
        driven.sandbox.write("../config/warp/config.toml", own);
        merged(&driven, &format!("[workflow]\n{loosened}\n"));
        let said = driven.run(&["42", "--level", "3"]);
        let told = format!("main:warp.toml:2: {stays}");
        assert!(
            said.code == Some(0) && [&said.out, &said.err].iter().any(|text| text.contains(&told)),
            "{said:?}"
        );
        assert!(said.out.matches("`make test` ended with exit 0").count() == 2, "{said:?}");
    }
}

#[test]
fn a_level_or_a_push_that_was_merged_moves_nothing() {
    let driven = Driven::with_issue(WARP, 1, 1);
    merged(&driven, "[automation]\nactive_level = 3\n\n[workflow]\npush = \"target\"\n");
    let before = driven.sandbox.git(&["rev-parse", "main"]);
    let said = driven.run(&["42"]);
    assert!(said.out.contains("is ready for review as pull request #44"), "{said:?}");
    assert_eq!(driven.sandbox.git(&["rev-parse", "main"]), before);
}

#[test]
fn test_command_of_the_merge_target_is_shown_when_it_has_changed_since_the_last_run() {
    let driven = Driven::with_issue(WARP, 1, 1);
    driven.issue(43, 1, "");
    merged(&driven, "[workflow]\ntest_command = \"make test\"\n");
    let said = driven.run(&["42", "--level", "2"]);
    assert!(said.code == Some(0) && !said.out.contains("has changed since the last run"), "{said:?}");
    merged(&driven, "[workflow]\ntest_command = \"sh -c true\"\n");
    let said = driven.run(&["43", "--level", "2"]);
    let told = "main:warp.toml has changed since the last run: test_command is \"sh -c true\" now, \"make test\" before";
    assert!([&said.out, &said.err].iter().any(|text| text.contains(told)), "{said:?}");
}
