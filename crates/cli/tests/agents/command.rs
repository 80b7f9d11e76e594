//! Any program as an agent, and who may ask the socket.

use std::{
    fs,
    io::Write as _,
    process::{Command, Stdio},
};

use adapters::agent::{HOOK_SOCKET, HOOK_TOKEN, NoAnswer, command};

use super::hermetic::{Driver, again, drive, project};

fn outside() -> Option<(testkit::Sandbox, Command)> {
    let sandbox = project();
    let command = again(&sandbox);
    Some((sandbox, command))
}

#[test]
fn a_shell_command_gets_the_prompt_and_answers_with_its_last_object() {
    drive("command::a_shell_command_gets_the_prompt_and_answers_with_its_last_object", outside, |driver| {
        let line =
            "cat > prompt.txt; echo '{\"summary\": 1}'; echo \"so: {\\\"summary\\\":\\\"$WARP_PHASE\\\"}\"";
        let agent = command::Command { line: line.to_owned() };
        let (ended, said) = driver.ask(&agent, "Write a parser.", None);
        assert_eq!(ended.answer.unwrap()["summary"], "coding", "{said:?}");
        let prompt = fs::read_to_string(driver.root.join("prompt.txt")).unwrap();
        assert!(prompt.starts_with("Write a parser."), "{prompt}");
        let agent = command::Command { line: "echo oh >&2; exit 3".to_owned() };
        let why = driver.ask(&agent, "", None).0.answer.unwrap_err();
        assert!(matches!(&why, NoAnswer::Failed { words, .. } if words == "oh"), "{why:?}");
    });
}

/// Calls the gate as a client would, through a socket.
fn gate(driver: &Driver, socket: &str, token: &str, event: &str) -> (Option<i32>, String) {
    let mut child = Command::new(Driver::warp())
        .args(["hook", event])
        .env(HOOK_SOCKET, socket)
        .env(HOOK_TOKEN, token)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let input = format!(
        r#"{{"cwd":{:?},"tool_name":"Bash","tool_input":{{"command":"git commit -m x"}}}}"#,
        driver.root
    );
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_gate_that_gets_no_answer_refuses_and_an_observer_leaves_a_note() {
    drive("command::a_gate_that_gets_no_answer_refuses_and_an_observer_leaves_a_note", outside, |driver| {
        let hooks = driver.hooks();
        let socket = hooks.socket.to_str().unwrap();
        let (code, err) = gate(driver, socket, &hooks.token, "pre-tool-use");
        assert_eq!((code, err.contains("git_commit is only allowed")), (Some(2), true), "{err}");
        let (code, err) = gate(driver, socket, "wrong", "pre-tool-use");
        assert_eq!((code, err.contains("the token is not this run's")), (Some(2), true), "{err}");
        let (code, err) = gate(driver, "/nowhere", &hooks.token, "pre-tool-use");
        assert_eq!((code, err.contains("does not answer the hook")), (Some(2), true), "{err}");
        let (code, err) = gate(driver, "/nowhere", &hooks.token, "post-tool-use");
        assert_eq!((code, err.contains("does not answer the hook")), (Some(0), true), "{err}");
        assert_eq!(gate(driver, "/nowhere", "", "stop"), (Some(0), String::new()));
    });
}
