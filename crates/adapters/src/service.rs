//! A program that is kept running: started again as its policy says, its words in a log that stays small.
//!
//! [`keep`] is the loop; [`Service`] runs it in a thread of its own, and ends with its value. Whatever the program started
//! ends with it, as with every other child.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use engine::Owner;
use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

use crate::{
    machine,
    process::{self, Control, End, Environment, Job, Limits, MARK, ProgramEvent, Signal, SignalTarget},
};

/// It is kept for as long as it is wanted, which is some other's to say.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
/// How it is asked to end.
const LADDER: &[(Signal, Duration)] = &[(Signal::TERM, Duration::from_secs(3))];
/// How often it is started again without having run for [`LONG`] in between.
const MOST_RESTARTS: u32 = 3;
/// How long to wait before it is started again; twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// Whoever ran for so long has come up: what ended it is counted anew.
const LONG: Duration = Duration::from_secs(60);
/// How long the log gets before it is begun anew; the one before is kept beside it.
const LONGEST_LOG: u64 = 512 * 1024;
/// The line of a log with which a program's own words begin.
const BEGINS: &str = "[warp] it is started";
/// How much of the log's end is told.
const TOLD: usize = 1500;
/// How often it is looked whether somebody wants the program to end while it is not running.
const LOOK: Duration = Duration::from_millis(50);

/// What is kept running.
#[derive(Clone, Debug)]
pub struct Plan {
    pub program: OsString,
    pub arguments: Vec<OsString>,
    pub directory: PathBuf,
    pub environment: Environment,
    pub reach: SignalTarget,
    /// What it is marked with: [`process::end_leftovers`] finds it by that.
    pub mark: String,
    pub log: PathBuf,
    pub policy: Policy,
}

/// When a program that has ended is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    Never,
    OnFailure,
    Always,
}

/// How a program that is kept stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    Runs,
    /// It has ended in this way, and is started again in a moment.
    Waits(End),
    /// It has ended, and is not started again; how, in words.
    Over(String),
}

/// How often a program was started again.
#[derive(Clone, Debug)]
pub struct Restarts {
    policy: Policy,
    in_a_row: u32,
}

impl Restarts {
    pub fn new(policy: Policy) -> Self {
        Self { policy, in_a_row: 0 }
    }

    /// Returns how long to wait before a program that ended so, after so long, is started again; nothing if it is not.
    pub fn after(&mut self, end: &End, ran: Duration) -> Option<Duration> {
        let wanted = match self.policy {
            Policy::Never => false,
            Policy::OnFailure => *end != End::Exit(0),
            Policy::Always => true,
        };
        if ran >= LONG {
            self.in_a_row = 0;
        }
        if !wanted || self.in_a_row >= MOST_RESTARTS {
            return None;
        }
        self.in_a_row += 1;
        Some(FIRST_PAUSE * 2_u32.pow(self.in_a_row - 1))
    }
}

/// Keeps a program running until its policy, or whoever is asked by `go`, ends it. `told` hears how it stands.
pub fn keep(plan: &Plan, go: &dyn Fn() -> Control, told: &mut dyn FnMut(State)) {
    let mut log = Log::new(&plan.log);
    log.line(BEGINS);
    let mut restarts = Restarts::new(plan.policy);
    loop {
        told(State::Runs);
        let begun = Instant::now();
        let followed = process::follow(plan.job(), &mut |seen| {
            if let ProgramEvent::Out(line) | ProgramEvent::Err(line) = seen {
                log.line(line);
            }
            go()
        });
        let end = match followed {
            Ok(followed) => followed.end,
            Err(error) => {
                let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
                return told(State::Over(format!("{error}: {source}")));
            }
        };
        if end == End::Stopped {
            return told(State::Over(end.to_string()));
        }
        let Some(pause) = restarts.after(&end, begun.elapsed()) else {
            log.line(&format!("[warp] it ended with {end}"));
            return told(State::Over(end.to_string()));
        };
        log.line(&format!("[warp] it ended with {end}, and is started again"));
        told(State::Waits(end));
        if !wait(pause, go) {
            return told(State::Over(End::Stopped.to_string()));
        }
    }
}

/// Waits, unless somebody wants an end; tells whether the wait was whole.
fn wait(pause: Duration, go: &dyn Fn() -> Control) -> bool {
    let until = Instant::now() + pause;
    while Instant::now() < until {
        if go() != Control::On {
            return false;
        }
        thread::sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
    }
    true
}

impl Plan {
    fn job(&self) -> Job<'_> {
        Job {
            program: self.program.clone(),
            arguments: self.arguments.clone(),
            directory: &self.directory,
            environment: self.environment.clone(),
            input: Vec::new(),
            limits: Limits { whole: FOR_EVER, silence: FOR_EVER },
            ladder: LADDER,
            reach: self.reach,
            mark: &self.mark,
        }
    }
}

/// A program that is kept running for as long as this value lives.
#[derive(Debug)]
pub struct Service {
    state: Arc<Mutex<State>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Service {
    pub fn start(plan: Plan) -> io::Result<Self> {
        let state = Arc::new(Mutex::new(State::Runs));
        let is_over = Arc::new(AtomicBool::new(false));
        let (shared, asked) = (Arc::clone(&state), Arc::clone(&is_over));
        // The walls fall with the thread that has built them, so the one that starts the program has to outlive it.
        let thread = thread::Builder::new().name("service".to_owned()).spawn(move || {
            let go = || if asked.load(Ordering::Relaxed) { Control::Stop } else { Control::On };
            keep(&plan, &go, &mut |state| *shared.lock().unwrap_or_else(PoisonError::into_inner) = state);
        })?;
        Ok(Self { state, is_over, thread: Some(thread) })
    }

    /// Returns how the program stands.
    pub fn state(&self) -> State {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic there has been shown already, and the walls have fallen with it.
            let _ = thread.join();
        }
    }
}

/// A log that is begun anew when it gets long.
struct Log {
    path: PathBuf,
    file: Option<File>,
    written: u64,
}

impl Log {
    fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), file: None, written: 0 }
    }

    /// Adds a line. A program is not ended because its words cannot be kept.
    fn line(&mut self, line: &str) {
        if self.file.is_none() || self.written > LONGEST_LOG {
            self.begin();
        }
        let text = format!("{line}\n");
        if let Some(file) = &mut self.file
            && file.write_all(text.as_bytes()).is_ok()
        {
            self.written = self.written.saturating_add(text.len() as u64);
        }
    }

    fn begin(&mut self) {
        // There may be none yet, and one that cannot be moved is written over.
        let _ = fs::rename(&self.path, older(&self.path));
        self.file = File::create(&self.path).ok();
        self.written = 0;
    }
}

fn older(log: &Path) -> PathBuf {
    let mut name = log.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

/// Returns the end of a log, without secrets and without what was said before the last start; nothing if there is none.
pub fn last_words(log: &Path) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let said = text.rsplit_once(BEGINS).map_or(&*text, |(_, said)| said);
    let text = crate::secrets::redacted(said.trim().to_owned());
    let skip = text.chars().count().saturating_sub(TOLD);
    text.chars().skip(skip).collect()
}

/// A child process that outlives this one.
#[derive(Debug)]
pub struct DetachedProgram(Child);

impl DetachedProgram {
    /// Starts a program that outlives this one. It and what it starts carry the mark.
    pub fn start(program: &Path, arguments: &[OsString], directory: &Path, mark: &str) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(directory).env(MARK, format!("{mark}.keeper"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        process::reset_in_children();
        command.spawn().map(Self)
    }

    pub fn owner(&self) -> Owner {
        machine::owner(self.0.id())
    }

    /// Tells whether it has ended already.
    pub fn has_ended(&mut self) -> bool {
        self.0.try_wait().is_ok_and(|status| status.is_some())
    }
}

/// Makes this process the first of a session of its own, so that a terminal that is closed does not end it.
pub fn leave_terminal() {
    // It fails where this is so already.
    let _ = rustix::process::setsid();
}

/// Asks a process to end, and waits for that; tells whether it is gone.
pub fn end(owner: &Owner, patience: Duration) -> bool {
    let Some(pid) = i32::try_from(owner.pid).ok().and_then(rustix::process::Pid::from_raw) else {
        return true;
    };
    // It is held before it is looked at, so that no other is hit that got its number.
    let Ok(held) = pidfd_open(pid, PidfdFlags::empty()) else { return true };
    if !machine::is_live(owner) {
        return true;
    }
    // One that cannot be asked is seen to be there below.
    let _ = pidfd_send_signal(&held, Signal::TERM);
    let until = Instant::now() + patience;
    while machine::is_live(owner) {
        if Instant::now() >= until {
            return false;
        }
        thread::sleep(LOOK);
    }
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plan(directory: &Path, line: &str, policy: Policy) -> Plan {
        Plan {
            program: "sh".into(),
            arguments: vec!["-c".into(), line.into()],
            directory: directory.to_owned(),
            environment: Environment::Inherited(Vec::new()),
            reach: SignalTarget::Group,
            mark: machine::random_text(10).unwrap(),
            log: directory.join("log"),
            policy,
        }
    }

    fn kept(plan: &Plan) -> Vec<State> {
        let mut states = Vec::new();
        keep(plan, &|| Control::On, &mut |state| states.push(state));
        states
    }

    #[test]
    fn a_program_that_fails_is_started_again_so_often_and_no_more() {
        let directory = tempfile::tempdir().unwrap();
        let states = kept(&plan(directory.path(), "echo here; exit 3", Policy::OnFailure));
        let waits = states.iter().filter(|state| matches!(state, State::Waits(End::Exit(3)))).count();
        assert_eq!((waits, states.last()), (3, Some(&State::Over("exit 3".to_owned()))));
        let log = last_words(&directory.path().join("log"));
        assert_eq!(log.matches("here").count(), 4, "{log}");
        assert!(log.ends_with("[warp] it ended with exit 3"), "{log}");
    }

    #[test]
    fn what_another_program_has_said_before_are_not_its_words() {
        let directory = tempfile::tempdir().unwrap();
        kept(&plan(directory.path(), "echo before", Policy::Never));
        kept(&plan(directory.path(), "echo now", Policy::Never));
        assert_eq!(last_words(&directory.path().join("log")), "now\n[warp] it ended with exit 0");
    }

    #[test]
    fn a_policy_says_which_end_is_followed_by_a_start() {
        let directory = tempfile::tempdir().unwrap();
        for (line, policy, starts) in [
            ("exit 3", Policy::Never, 1),
            ("exit 0", Policy::Never, 1),
            ("exit 0", Policy::OnFailure, 1),
            ("exit 0", Policy::Always, 4),
        ] {
            let states = kept(&plan(directory.path(), line, policy));
            let seen = states.iter().filter(|state| **state == State::Runs).count();
            assert_eq!(seen, starts, "{line} {policy:?}");
        }
    }

    #[test]
    fn a_service_ends_with_its_value_and_so_does_what_it_started() {
        let directory = tempfile::tempdir().unwrap();
        let ready = directory.path().join("ready");
        let line = format!("sleep 600 & echo $! >{0}.new && mv {0}.new {0}; wait", ready.display());
        let service = Service::start(plan(directory.path(), &line, Policy::Always)).unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        while !ready.exists() && Instant::now() < until {
            thread::yield_now();
        }
        let child: u32 = fs::read_to_string(&ready).unwrap().trim().parse().unwrap();
        let child = machine::owner(child);
        assert!(machine::is_live(&child) && service.state() == State::Runs);
        drop(service);
        assert!(!machine::is_live(&child));
    }

    #[test]
    fn a_log_stays_small_and_the_one_before_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut log = Log::new(&path);
        let line = "x".repeat(64 * 1024);
        for _ in 0..40 {
            log.line(&line);
        }
        log.line("the end");
        let size = |path: &Path| fs::metadata(path).unwrap().len();
        assert!(size(&path) < 2 * LONGEST_LOG && size(&older(&path)) < 2 * LONGEST_LOG);
        assert!(last_words(&path).ends_with("the end"));
    }

    proptest! {
        #[test]
        fn restarts_have_a_bound_whatever_happens(ends in prop::collection::vec((0..3_i32, 0..59_u64), 1..40)) {
            for policy in [Policy::Never, Policy::OnFailure, Policy::Always] {
                let mut restarts = Restarts::new(policy);
                let pauses: Vec<Option<Duration>> = ends
                    .iter()
                    .map(|(code, ran)| restarts.after(&End::Exit(*code), Duration::from_secs(*ran)))
                    .collect();
                let started = pauses.iter().flatten().count();
                prop_assert!(started <= MOST_RESTARTS as usize);
                let waits: Vec<Duration> = pauses.into_iter().flatten().collect();
                prop_assert!(waits.is_sorted());
                if policy == Policy::Never {
                    prop_assert_eq!(started, 0);
                }
            }
        }
    }
}
