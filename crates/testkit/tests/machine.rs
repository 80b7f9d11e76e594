//! What tests stand on: commands with a deadline, programs, ports.

use std::{
    net::{Ipv4Addr, TcpListener, TcpStream},
    panic::catch_unwind,
    thread,
    time::Duration,
};

use testkit::{
    Sandbox,
    agents::output,
    driven::{Driven, Driving},
    machine,
};

fn sandbox() -> Sandbox {
    // These tests have no need of the product itself.
    Sandbox::new("/nonexistent")
}

#[test]
fn a_command_that_does_not_end_fails_its_test_with_what_it_said() {
    let sandbox = sandbox();
    let waits = |patience: Duration| {
        let mut command = sandbox.command("sh");
        command.args(["-c", "echo so far; exec tail -f /dev/null"]);
        output(command, patience)
    };
    let panicked = catch_unwind(|| waits(Duration::from_millis(300))).expect_err("it does not end");
    let said = panicked.downcast_ref::<String>().expect("a panic has words");
    assert!(said.contains("does not end"), "{said}");
}

#[test]
fn what_a_command_leaves_running_is_not_waited_for() {
    let sandbox = sandbox();
    let mut command = sandbox.command("sh");
    command.args(["-c", "tail -f /dev/null & echo $!"]);
    let said = output(command, Duration::from_secs(60));
    let number = String::from_utf8_lossy(&said.stdout).trim().to_owned();
    assert!(sandbox.command("kill").arg(number).status().is_ok_and(|status| status.success()));
}

#[test]
fn a_command_is_looked_at_line_by_line_and_killed_when_dropped() {
    let sandbox = sandbox();
    let mut command = sandbox.command("sh");
    command.args(["-c", "echo one; echo two; exec tail -f /dev/null"]);
    let mut running = Driving::start(command);
    assert_eq!(running.line("tw"), "two");
    assert!(running.is_under_way());
    running.kill();
    assert_eq!(running.end(), None);
}

#[test]
fn a_program_runs_at_once_however_much_is_started_beside_it() {
    let sandbox = sandbox();
    thread::scope(|scope| {
        for thread in 0..4 {
            let sandbox = &sandbox;
            scope.spawn(move || {
                for number in 0..10 {
                    let program = sandbox.program(format!("bin/{thread}/{number}"), "#!/bin/sh\nexit 7\n");
                    assert_eq!(
                        output(sandbox.command(program), Duration::from_secs(60)).status.code(),
                        Some(7)
                    );
                }
            });
        }
    });
}

#[test]
fn a_port_is_nobodys_and_can_be_had_by_its_number() {
    let port = machine::port();
    assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err());
    for _ in 0..100 {
        assert_ne!(machine::port(), port, "it is not given to others");
    }
    assert!(TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok());
}

#[test]
fn temporary_files_lie_in_the_home() {
    let sandbox = sandbox();
    let mut command = sandbox.command("sh");
    command.args(["-c", "mktemp"]);
    let said = output(command, Duration::from_secs(60));
    let file = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(file.starts_with(&*sandbox.home().to_string_lossy()), "{file}");
}

#[test]
fn a_run_is_behind_walls_where_there_can_be_any() {
    let driven = Driven::new("/nonexistent");
    let command = driven.run_command(&["42"]);
    assert_eq!(command.get_args().any(|argument| argument == "--no-sandbox"), !machine::has_walls());
}
