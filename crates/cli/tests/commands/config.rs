use super::{json, sandbox};
use crate::settings::complete::WARP_DRIVE;
use crate::support::{Ends as _, InProject as _};

#[test]
fn every_layer_wins_over_the_ones_before_and_says_so() {
    let sandbox = sandbox();
    let shown = |environment: Option<&str>, flags: &[&str]| {
        let mut command = sandbox.warp_command(&["config", "--json"]);
        command.args(flags).envs(environment.map(|value| ("WARP_MAX_CODING_CYCLES", value)));
        let output = command.output().unwrap();
        let setting = json(&String::from_utf8(output.stdout).unwrap())["max_coding_cycles"].clone();
        (setting["value"].as_u64().unwrap(), sandbox.plain(setting["origin"].as_str().unwrap()))
    };
    let is = |value: u64, origin: &str| (value, origin.to_owned());
    assert_eq!(shown(None, &[]), is(3, "default"));
    sandbox.write("../config/warp/config.toml", "[workflow]\nmax_coding_cycles = 9\n");
    assert_eq!(shown(None, &[]), is(9, "[HOME]/config/warp/config.toml"));
    sandbox.write("warp.toml", "[workflow]\nmax_coding_cycles = 5\n");
    assert_eq!(shown(None, &[]), is(5, "warp.toml"));
    sandbox.write(".claude/settings.local.json", r#"{"_workflow":{"max_coding_cycles":6},"permissions":{}}"#);
    assert_eq!(shown(None, &[]), is(6, ".claude/settings.local.json"));
    assert_eq!(shown(Some("7"), &[]), is(7, "environment WARP_MAX_CODING_CYCLES"));
    assert_eq!(shown(Some("7"), &["--set", "max_coding_cycles=8"]), is(8, "flag"));
}

#[test]
fn an_unknown_name_is_an_error_in_our_file_and_a_warning_in_another_tools() {
    let sandbox = sandbox();
    sandbox.write(".claude/settings.local.json", r#"{"_workflow":{"max_codng_cycles":6}}"#);
    let said = sandbox.warp(&["config"]).ends(0);
    assert_eq!(
        said.err,
        "note: .claude/settings.local.json: `_workflow.max_codng_cycles` is not a setting; did you mean `max_coding_cycles`?\n"
    );
    sandbox.write("warp.toml", "[workflow]\nauto_merge = false\nmax_codng_cycles = 6\n");
    let said = sandbox.warp(&["config"]).ends(78);
    assert_eq!(
        said.err,
        "error: warp.toml:3: `max_codng_cycles` is not a setting; did you mean `max_coding_cycles`?\n\
         hint: docs/reference/settings.md lists every setting with its default\n"
    );
}

#[test]
fn a_role_that_no_workflow_has_is_an_error_with_the_nearest_one() {
    let sandbox = sandbox();
    sandbox.write("warp.toml", "[roles.coder]\nagent = \"codex\"\n\n[roles.revewer]\nagent = \"claude\"\n");
    let said = sandbox.warp(&["config"]).ends(78);
    assert_eq!(
        said.err,
        "error: warp.toml:4: no workflow has a role `revewer`, did you mean `reviewer`?; there are architect, coder, planner, reviewer\n\
         hint: docs/reference/settings.md lists every setting with its default\n"
    );
    // A workflow of the project's own brings its own roles.
    let workflow = "name = \"triage\"\npurpose = \"x\"\ninitial = \"look\"\nfinal = [\"done\"]\n\
        [[phase]]\nname = \"look\"\npurpose = \"x\"\nactivity = \"agent\"\nrole = \"revewer\"\n\
        deadline = { minutes = 5, outcome = \"park\" }\non = [{ event = \"looked\", to = \"done\" }]\n\
        [[phase]]\nname = \"done\"\npurpose = \"x\"\nactivity = \"engine\"\n";
    sandbox.write(".warp/workflows/triage.toml", workflow);
    sandbox.warp_ok(&["config"]);
    // The user's own file is for all projects.
    sandbox.write("warp.toml", "");
    sandbox.write("../config/warp/config.toml", "[roles.gardener]\nagent = \"claude\"\n");
    sandbox.warp_ok(&["config"]);
}

#[test]
fn every_setting_of_the_originals_table_is_shown() {
    let sandbox = sandbox();
    let said = sandbox.warp_ok(&["config"]);
    for name in WARP_DRIVE {
        assert!(said.lines().any(|line| line.split(' ').next() == Some(*name)), "{name}");
    }
}

#[test]
fn a_run_is_pinned_to_the_merge_targets_settings() {
    let sandbox = sandbox();
    sandbox.git(&["switch", "--quiet", "main"]);
    sandbox.write("warp.toml", "[workflow]\nmax_acs_per_commit = 1\n");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "--quiet", "-m", "chore: settings"]);
    sandbox.git(&["switch", "--quiet", "-c", "feature/x"]);
    sandbox.write("warp.toml", "[workflow]\nmax_acs_per_commit = 9\n");
    let said = sandbox.warp(&["state", "init", ".", "--level", "2"]);
    insta::assert_snapshot!(sandbox.stable(&said.err), @"note: warp.toml differs from the one in `main`; the run goes by `main`: max_acs_per_commit is 1 there, 9 here");
    sandbox.transitions(&["prerequisites_ok", "work_selected", "plan_ready"]);
    let said =
        sandbox.warp(&["state", "transition", ".", "chunks_defined", "--data", r#"{"acs":[["A","B"]]}"#]);
    assert_eq!(said.code, Some(65));
    assert_eq!(said.err, "error: `acs` has 2 criteria in chunk 1; max_acs_per_commit is 1\n");
}

#[test]
fn one_setting_is_shown_with_its_purpose_and_set_by_its_name() {
    let sandbox = sandbox();
    sandbox.warp_ok(&["config", "max_coding_cycles", "7"]);
    insta::assert_snapshot!(sandbox.stable(&sandbox.warp_ok(&["config", "max_coding_cycles"])), @"
    max_coding_cycles = 7
    from: [HOME]/state/warp/projects/[ID]/settings.toml

    Code and test cycles per chunk

    `warp config max_coding_cycles VALUE` sets it for this project.
    ");
    let shown = json(&sandbox.warp_ok(&["config", "max_coding_cycles", "--json"]));
    assert_eq!(
        (shown.as_object().unwrap().len(), shown["max_coding_cycles"]["value"].as_u64()),
        (1, Some(7))
    );
    sandbox.warp_ok(&["config", "max_coding_cycles="]);
    assert!(
        sandbox
            .warp_ok(&["config", "max_coding_cycles"])
            .starts_with("max_coding_cycles = 3\nfrom: default\n")
    );
    let said = sandbox.warp(&["config", "max_codng_cycles"]).ends(78);
    assert!(said.err.contains("is not a setting; did you mean `max_coding_cycles`?"), "{}", said.err);
    sandbox.warp(&["config", "max_coding_cycles", "7", "8"]).ends(64);
    sandbox.warp(&["config", "max_coding_cycles", "many"]).ends(78);
}
