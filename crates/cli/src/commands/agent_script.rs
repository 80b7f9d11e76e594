use std::{
    env,
    io::{self, Read as _, Write as _},
    path::PathBuf,
    process, thread,
    time::{Duration, Instant},
};

use adapters::{
    agent::{
        AgentUpdate,
        script::{Act, Line, RESUME, Reply, Script, Stage, TurnOutcome},
    },
    machine,
    process::Control,
};
use serde_json::Value;

use crate::{error::CommandError, exit::Exit, person::AWAY};

/// How long an agent hangs that is told to: nobody waits for it that long.
const HANGS: Duration = Duration::from_secs(24 * 60 * 60);
/// How often a waiting agent says that it still waits.
const WAITING: Duration = Duration::from_millis(200);

/// Play a scripted agent: what `warp run` starts where the agent is `script`
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct Arguments {
    /// The script; docs/agents.md has its format
    file: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Exit, CommandError> {
    let bad = |error: &dyn std::error::Error| CommandError::of(Exit::BadData, error);
    let script = Script::read(&arguments.file).map_err(|error| bad(&error))?;
    // The prompt changes nothing, but whoever writes it must be able to.
    io::stdin().lock().read_to_end(&mut Vec::new()).map_err(|error| bad(&error))?;
    let tree = env::current_dir().map_err(|error| bad(&error))?;
    let facts: Vec<(String, String)> = env::vars().filter(|(name, _)| name.starts_with("WARP_")).collect();
    let resume = env::var(RESUME).ok();
    let hook = |event: &str, input: &Value| {
        let answer = hooks::answer(event, input.to_string().as_bytes(), &AWAY);
        Reply::of(answer.code, &answer.out, &answer.err)
    };
    let stage = Stage { tree: &tree, facts: &facts, resume: resume.as_deref(), hook: &hook };
    match stage.play(&script, &mut act) {
        TurnOutcome::Answer(answer) => Ok(print(&Line::Answer(answer))),
        TurnOutcome::NoTurn(what) => {
            print(&Line::NoTurn(what));
            Ok(Exit::BadData)
        }
        TurnOutcome::Exit(code) => process::exit(code),
        TurnOutcome::Hang => {
            thread::sleep(HANGS);
            Ok(Exit::Failed)
        }
        TurnOutcome::Killed => {
            machine::kill_self();
            Ok(Exit::Failed)
        }
        TurnOutcome::Nothing | TurnOutcome::Stopped => Ok(Exit::Done),
    }
}

fn act(act: Act) -> Control {
    match act {
        Act::Say(said) => {
            print(&Line::Said(said));
        }
        Act::Print(text) => write(format!("{text}\n").as_bytes()),
        Act::Flood { megabytes } => flood(megabytes),
        Act::Wait(duration) => wait(duration),
    }
    Control::On
}

fn print(line: &Line) -> Exit {
    let text = serde_json::to_string(line).expect("a line can be written as JSON");
    write(format!("{text}\n").as_bytes());
    Exit::Done
}

/// Writes to the standard output. Without anyone who reads it, there is nothing left to do.
fn write(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    if out.write_all(bytes).and_then(|()| out.flush()).is_err() {
        process::exit(i32::from(Exit::Failed as u8));
    }
}

fn flood(megabytes: u64) {
    let mut line = [b'x'; 1024];
    line[1023] = b'\n';
    let block = line.repeat(64);
    for _ in 0..megabytes.saturating_mul(16) {
        write(&block);
    }
}

fn wait(duration: Duration) {
    let begun = Instant::now();
    while let Some(left) = duration.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) {
        print(&Line::Said(AgentUpdate::Tick(Duration::ZERO)));
        thread::sleep(left.min(WAITING));
    }
}
