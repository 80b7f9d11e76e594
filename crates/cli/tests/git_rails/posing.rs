//! An agent in a person's checkout that poses as the person: by cutting itself off from its client, by hiding in depth or in
//! a namespace, by a forged hook.

use std::process::Command;

use super::{Project, WARP};

/// What is left of the environment after `env -i`, for a program that has to find its files.
const CLEAN: &str = "env -i HOME=\"$HOME\" PATH=\"$PATH\" XDG_STATE_HOME=\"$XDG_STATE_HOME\" XDG_CONFIG_HOME=\"$XDG_CONFIG_HOME\"";

/// Tells whether a program can make what it needs on this machine.
fn works(line: &str) -> bool {
    Command::new("sh").args(["-c", line]).output().is_ok_and(|output| output.status.success())
}

/// Runs a line whose processes outlive their parents, and waits for what they print.
fn orphaned(line: &str) -> String {
    format!("mkfifo pipe; {line}; cat pipe; rm pipe")
}

/// Runs a command 90 processes deep.
fn nested(command: &str) -> String {
    format!(
        "export LINE='if [ $1 -gt 0 ]; then sh -c \"$LINE\" x $(($1 - 1)); else {command}; fi; exit $?'; sh -c \"$LINE\" x 90"
    )
}

#[test]
fn an_agent_that_hides_where_it_comes_from_gives_no_command_of_a_persons() {
    let mut project = Project::new();
    let stop = format!("{WARP} stop");
    let nested = nested(&stop);
    let forks = "import os,sys\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\nos.system(sys.argv[1])";
    let mut lines = vec![
        stop.clone(),
        nested,
        format!("{CLEAN} setsid --wait {stop}"),
        orphaned(&format!("{CLEAN} setsid sh -c '({stop}) >pipe 2>&1 &'")),
        orphaned(&format!("sh -c '({CLEAN} {stop}) >pipe 2>&1 &'")),
        orphaned(&format!("{CLEAN} nohup sh -c '(setsid {stop}) >pipe 2>&1 &' >/dev/null")),
        orphaned(&format!("{CLEAN} sh -c '(trap \"\" HUP; setsid -f sh -c \"{stop}\") >pipe 2>&1 &'")),
        orphaned(&format!("{CLEAN} python3 -c '{forks}' '{stop} >pipe 2>&1'")),
    ];
    for namespace in [
        "unshare -pf",
        "unshare -pf --mount-proc",
        "unshare -Urpf",
        "unshare -Urpf --mount-proc",
        "setsid --wait unshare -pf --kill-child",
        "bwrap --dev-bind / / --unshare-pid --proc /proc",
        "bwrap --dev-bind / / --unshare-pid --as-pid-1 --proc /proc",
        "bwrap --dev-bind / / --tmpfs /proc",
        "bwrap --dev-bind / / --unshare-pid --tmpfs /proc",
    ] {
        if works(&format!("{namespace} true")) {
            lines.push(format!("{CLEAN} {namespace} {stop}"));
        }
    }
    assert!(lines.len() > 8, "no namespace can be made here");
    for line in lines {
        let ended = project.agent.run(&line);
        assert!(ended.said.contains("only a person may run this command"), "{line}: {ended:?}");
        assert_eq!(project.standing(), engine::Standing::Active, "{line}");
    }
    // The person's own process, which started the agent, is not taken for it.
    project.sandbox.warp_ok(&["stop"]);
}

#[test]
fn a_commit_from_deep_down_or_from_another_namespace_is_held_to_the_phase() {
    let mut project = Project::new();
    let commit = "git commit --quiet --allow-empty -m feat:x";
    let known =
        format!("{CLEAN} GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x");
    let mut lines = vec![nested(commit), format!("{known} setsid --wait {commit}")];
    lines.extend(works("unshare -pf true").then(|| format!("{known} unshare -pf {commit}")));
    for line in lines {
        let before = project.git(&["rev-parse", "HEAD"]);
        let ended = project.agent.run(&line);
        assert!(ended.said.contains("only allowed during committing"), "{line}: {ended:?}");
        assert_eq!(project.git(&["rev-parse", "HEAD"]), before, "{line}");
    }
    project.git(&["commit", "--quiet", "--allow-empty", "-m", "a person's"]);
}

#[test]
fn a_forged_session_start_does_not_take_the_run_from_its_agent() {
    let mut project = Project::new();
    let (root, pid) = (project.sandbox.root().display().to_string(), project.agent.child.id());
    for input in [
        format!("{{\"cwd\":\"{root}\"}}"),
        format!("{{\"cwd\":\"{root}\",\"session_id\":null}}"),
        format!("{{\"cwd\":\"{root}\",\"session_id\":\"\"}}"),
        format!("{{\"cwd\":\"{root}\",\"session_id\":\" \"}}"),
        format!("{{\"cwd\":\"{root}\",\"session_id\":\"other\",\"source\":\"clear\"}}"),
        format!("{{\"cwd\":\"{root}\",\"session_id\":\"session-1\",\"source\":\"resume\"}}"),
    ] {
        for named in [format!("CLAUDE_PID={pid}"), "CLAUDE_PID=1".to_owned(), "CLAUDE_PID=".to_owned()] {
            // The second is a child of the client itself, as a hook is.
            for hook in [
                format!("echo '{input}' | {named} {WARP} hook session-start"),
                format!("echo '{input}' > in; {named} exec {WARP} hook session-start < in"),
            ] {
                project.agent.run(&hook);
                let owner = project.workspace().current().unwrap().unwrap().run.owner.clone();
                assert!(owner.pid == pid && owner.session.is_some(), "{hook}: {owner:?}");
                let ended = project.agent.run(&format!("{WARP} stop"));
                assert!(ended.said.contains("only a person may run this command"), "{hook}: {ended:?}");
            }
        }
    }
}
