//! `warp run` as a shell without job control, a CI job or `nohup` starts it: with signals ignored.

use std::process::Command;

use rustix::process::Signal;

use super::support::{Project, Running};

/// Starts a command as `nohup COMMAND &` in a script does.
fn in_background(project: &Project, command: &Command) -> Running {
    let mut shell = project.sandbox.command("sh");
    shell.args(["-c", "trap '' INT QUIT HUP; exec \"$@\"", "sh"]);
    shell.arg(command.get_program()).args(command.get_args());
    Running::start(shell)
}

#[test]
fn an_agent_of_a_run_in_the_background_hears_the_first_signal() {
    let project = Project::new("");
    let agent = "command:while read name mask; do test $name = SigIgn: && echo ignored $((0x$mask & 7)); done < /proc/self/status
        trap 'echo heard; exit 1' INT; echo listening
        while :; do sleep 0.05; done";
    let mut running = in_background(&project, &project.command(&["--agent", agent]));
    running.until("listening");
    // It was started with `nohup`, so this is not meant for it.
    running.signal(Signal::HUP);
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!((ended.code, ended.said.contains("heard")), (Some(130), true), "{}", ended.said);
    // Of the signals that were ignored (SIGHUP is the first bit), only SIGHUP still is.
    assert!(ended.said.contains("ignored 1"), "{}", ended.said);
    project.goes_on();
}
