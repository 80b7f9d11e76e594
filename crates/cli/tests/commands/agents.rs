//! `warp agents`.

use std::fs;

use serde_json::Value;
use testkit::Sandbox;

#[test]
fn agents_are_listed_with_what_is_there_and_what_works() {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    let bin = sandbox.home().join("clients");
    let put = |name: &str, script: &str| sandbox.program(bin.join(name), &format!("#!/bin/sh\n{script}\n"));
    put("codex", "echo codex-cli 0.166.0");
    put("opencode", "exit 1");
    let list = |arguments: &[&str]| {
        let mut command = sandbox.warp_command(arguments);
        // Nothing else is in the path: neither a real client, nor a shell for one that is not there.
        command.env("PATH", &bin).env("OPENAI_API_KEY", "dummy");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    insta::assert_snapshot!(list(&["agents"]), @"
    Agents

    claude        not installed  resume, schema, hooks, mcp, effort, model, usage, metered
                  `npm install --global @anthropic-ai/claude-code` installs it
    codex         0.166.0        resume, schema, hooks, mcp, effort, model, usage, metered
    opencode      does not start resume, hooks, mcp, effort, model, usage, metered
    acp:LINE      -              resume, mcp, effort, model, usage, unmetered
    command:LINE  -              metered
    script:FILE   -              resume, schema, hooks, usage, unmetered

    `warp run --agent AGENT` lets one work; docs/agents.md says what each word means.
    ");
    let shown: Vec<Value> = serde_json::from_str(&list(&["agents", "--json"])).unwrap();
    assert_eq!((&shown[0]["installed"], &shown[1]["version"]), (&false.into(), &"0.166.0".into()));
    assert_eq!((&shown[3]["installed"], &shown[3]["capabilities"]["resume"]), (&Value::Null, &true.into()));

    // A login that the route does not take is said to be one.
    let login = sandbox.home().join(".codex");
    fs::create_dir(&login).unwrap();
    fs::write(login.join("auth.json"), r#"{"tokens":{"access_token":"t"}}"#).unwrap();
    let shown: Vec<Value> = serde_json::from_str(&list(&["agents", "--json"])).unwrap();
    assert_eq!(shown[1]["capabilities"]["metered"], false);
}
