//! Following a program: every line is handed out while it runs, and whoever watches may stop it.
//!
//! One call, from start to end, without a thread: a program which prints faster than it is followed has to wait, and
//! costs no memory.

use std::{
    collections::VecDeque,
    ffi::OsString,
    io,
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::Receiver,
    time::{Duration, Instant},
};

use rustix::process::{Signal, kill_process_group};

use super::{
    End, LAST, RunError,
    attend::{AttendedChild, WaitResult},
    bounds::{Bounds, JobCgroups},
    cgroup::{self, Cgroup},
    end_of, is_installed,
    marked::{self, MARK},
    output::{Lines, OutputBuffer},
    pid_of, reset_in_children, signal,
};
use crate::machine;

/// How often whoever watches is called at least.
const TICK: Duration = Duration::from_millis(200);
/// How long to wait for output after the end; a child that left the group may hold it open.
const LAST_OUTPUT: Duration = Duration::from_millis(500);

/// A program to follow.
#[derive(Debug)]
pub struct Job<'a> {
    pub program: OsString,
    pub arguments: Vec<OsString>,
    pub directory: &'a Path,
    pub environment: Environment,
    /// What it reads on standard input.
    pub input: Vec<u8>,
    pub limits: Limits,
    /// How it is asked to end, and how long it has after each. It is killed after the last.
    pub ladder: &'a [(Signal, Duration)],
    pub reach: SignalTarget,
    /// The run that it belongs to: [`end_leftovers`](super::end_leftovers) finds it by that.
    pub mark: &'a str,
}

/// What a program knows of the environment.
#[derive(Clone, Debug)]
pub enum Environment {
    /// All that this process knows, and these.
    Inherited(Vec<(OsString, OsString)>),
    /// These and nothing else.
    Exactly(Vec<(OsString, OsString)>),
}

/// How long a program may run, and how long it may say nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub whole: Duration,
    pub silence: Duration,
}

/// Target of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalTarget {
    /// The program's process group.
    Group,
    /// What runs within the program, which is a sandbox with these bounds: it would itself end at the first signal.
    Within(Bounds),
}

/// Output of a running program, or a tick without any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramEvent<'a> {
    /// A line of the standard output, without its end.
    Out(&'a str),
    /// A line of the standard error.
    Err(&'a str),
    /// Some time has passed, and the program has printed nothing for so long.
    Tick { quiet: Duration },
}

/// Whether a program continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Control {
    On,
    /// It is asked to end, in the ways of its ladder.
    Stop,
    /// It is killed at once.
    Kill,
}

/// Result of a followed program.
#[derive(Clone, Debug)]
pub struct ProgramResult {
    pub end: End,
    /// The head and the tail of what it said.
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// Set when the middle of one of them was left out.
    pub cut: bool,
    /// How many processes it left behind, outside its group; they were ended.
    pub left_behind: usize,
}

/// A line, and which output it was said on.
enum Line {
    Out(Vec<u8>),
    Err(Vec<u8>),
}

/// Runs a program and shows `watch` every line of it, and that time passes, until it has ended.
///
/// After `watch` has said stop, it is still shown what the program says, and may only say that it is killed at once.
pub fn follow(
    job: Job<'_>,
    watch: &mut dyn FnMut(ProgramEvent<'_>) -> Control,
) -> Result<ProgramResult, RunError> {
    converse(job, None, watch)
}

/// Follows a program that is spoken to while it runs: after its input it is given what comes by `more`, until nobody
/// can send any.
pub fn converse(
    job: Job<'_>,
    more: Option<Receiver<Vec<u8>>>,
    watch: &mut dyn FnMut(ProgramEvent<'_>) -> Control,
) -> Result<ProgramResult, RunError> {
    attend_to(job, Trust::None, more, watch)
}

/// Follows a program of which it is known that its children stay with it, such as git: it is begun faster.
pub(super) fn follow_trusted(
    job: Job<'_>,
    watch: &mut dyn FnMut(ProgramEvent<'_>) -> Control,
) -> Result<ProgramResult, RunError> {
    attend_to(job, Trust::Full, None, watch)
}

/// Whether a program leaves nothing behind that tries to get away.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    None,
    Full,
}

fn attend_to(
    job: Job<'_>,
    trust: Trust,
    more: Option<Receiver<Vec<u8>>>,
    watch: &mut dyn FnMut(ProgramEvent<'_>) -> Control,
) -> Result<ProgramResult, RunError> {
    let program = job.program.to_string_lossy().into_owned();
    let start = |source| RunError::Start { program: program.clone(), source };
    let name = marked::name(job.mark, &machine::random_text(12).map_err(start)?);
    let may_escape = trust == Trust::None && job.reach == SignalTarget::Group;
    let group = may_escape.then(|| group(&job, &name)).flatten();
    let bounded = match job.reach {
        SignalTarget::Within(bounds) => Some(JobCgroups::new(&name, bounds)),
        SignalTarget::Group => None,
    };
    let stage = match (&group, &bounded) {
        (Some(group), _) => Some(group.stage(&job.program, &job.arguments)),
        (None, Some(bounded)) if !bounded.procs().is_empty() => {
            Some(cgroup::stage(&bounded.procs(), &job.program, &job.arguments))
        }
        (None, _) => None,
    };
    let child = spawn(&job, &name, stage).map_err(start)?;
    let rungs = Escalation { pid: child.id(), reach: job.reach, ladder: job.ladder };
    let mut following = Following::new(job.limits, rungs, AttendedChild::new(child, job.input, more));
    let status = following.until_it_ends(watch);
    // Whatever it left behind ends with it, in its group or elsewhere.
    rungs.kill();
    let outside = group.as_ref().map_or(0, |group| group.end(rungs.pid));
    // The walls' first process tells its end before the kernel has ended everything within, so that is looked for.
    let looks = if may_escape && group.is_none() { 3 } else { 1 };
    let marked = marked::end_job(&name, (rungs.pid, following.begun.elapsed()), looks);
    drop((group, bounded));
    let left_behind = outside + marked;
    following.last_words(watch);
    following.finish(&program, status, left_behind)
}

/// Makes a control group for a job. It costs some milliseconds, and walls need none: all that is behind them ends with
/// their first process.
fn group(job: &Job<'_>, name: &str) -> Option<Cgroup> {
    // What is not there is started without, so that the start itself says what is wrong.
    let is_there = job.directory.join(&job.program).is_file() || is_installed(&job.program);
    is_there.then(|| Cgroup::new(name)).flatten()
}

fn spawn(job: &Job<'_>, name: &str, stage: Option<(OsString, Vec<OsString>)>) -> io::Result<Child> {
    let mut command = match stage {
        Some((program, arguments)) => {
            let mut staged = Command::new(program);
            staged.args(arguments);
            staged
        }
        None => {
            let mut plain = Command::new(&job.program);
            plain.args(&job.arguments);
            plain
        }
    };
    command.current_dir(job.directory).process_group(0);
    match &job.environment {
        Environment::Inherited(more) => command.envs(more.iter().map(|(name, value)| (name, value))),
        Environment::Exactly(all) => command.env_clear().envs(all.iter().map(|(name, value)| (name, value))),
    };
    command.env(MARK, name);
    reset_in_children();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

/// Signals to end a program, each with its grace period.
#[derive(Clone, Copy)]
struct Escalation<'a> {
    pid: u32,
    reach: SignalTarget,
    ladder: &'a [(Signal, Duration)],
}

impl Escalation<'_> {
    /// Sends the signal of a rung, and returns how long the program has to obey; past the last it is killed.
    fn step(&self, rung: usize) -> Duration {
        let Some((sent, grace)) = self.ladder.get(rung) else {
            self.kill();
            return LAST;
        };
        match self.reach {
            SignalTarget::Group => signal(pid_of(self.pid), *sent),
            // The first process within leads a session of its own and does not hear signals, all others there do.
            SignalTarget::Within(_) => match machine::child_of(self.pid).and_then(pid_of) {
                // It may have ended in the meantime, which is what is wanted.
                Some(first) => _ = kill_process_group(first, *sent),
                None => self.kill(),
            },
        }
        *grace
    }

    fn kill(&self) {
        signal(pid_of(self.pid), Signal::KILL);
    }
}

struct Following<'a> {
    limits: Limits,
    rungs: Escalation<'a>,
    child: AttendedChild,
    begun: Instant,
    ticked: Instant,
    /// When something was said last.
    heard: Instant,
    /// Why it is being stopped, the next rung and when it is due.
    stopping: Option<(End, usize, Instant)>,
    /// What was read and is not yet shown.
    waiting: VecDeque<Line>,
    out_lines: Lines,
    err_lines: Lines,
    out: OutputBuffer,
    err: OutputBuffer,
}

impl<'a> Following<'a> {
    fn new(limits: Limits, rungs: Escalation<'a>, child: AttendedChild) -> Self {
        let now = Instant::now();
        Self {
            limits,
            rungs,
            child,
            begun: now,
            ticked: now,
            heard: now,
            stopping: None,
            waiting: VecDeque::new(),
            out_lines: Lines::default(),
            err_lines: Lines::default(),
            out: OutputBuffer::default(),
            err: OutputBuffer::default(),
        }
    }

    /// Follows until the program has ended; nothing is returned if it cannot be ended.
    fn until_it_ends(
        &mut self,
        watch: &mut dyn FnMut(ProgramEvent<'_>) -> Control,
    ) -> Option<io::Result<ExitStatus>> {
        loop {
            if self.waiting.is_empty()
                && let Some(status) = self.listen(self.ticked + TICK)
            {
                return Some(status);
            }
            let shown = self.show(watch);
            let ticked = if self.ticked.elapsed() >= TICK {
                self.ticked = Instant::now();
                watch(ProgramEvent::Tick { quiet: self.heard.elapsed() })
            } else {
                Control::On
            };
            match shown.max(ticked) {
                Control::On => {}
                Control::Stop => self.stop(End::Stopped),
                Control::Kill => self.hurry(),
            }
            self.look_at_the_clock();
            if !self.climb() {
                return None;
            }
        }
    }

    /// Waits for what the program does next, at the longest until a time; returns how it ended, if it has.
    fn listen(&mut self, until: Instant) -> Option<io::Result<ExitStatus>> {
        let waiting = &mut self.waiting;
        match self.child.wait(until) {
            WaitResult::Out(bytes) => {
                self.out_lines.take(bytes, |line| waiting.push_back(Line::Out(line)));
                self.heard = Instant::now();
            }
            WaitResult::Err(bytes) => {
                self.err_lines.take(bytes, |line| waiting.push_back(Line::Err(line)));
                self.heard = Instant::now();
            }
            WaitResult::OutClosed => waiting.extend(self.out_lines.rest().map(Line::Out)),
            WaitResult::ErrClosed => waiting.extend(self.err_lines.rest().map(Line::Err)),
            WaitResult::Ended(status) => return Some(status),
            WaitResult::Nothing => {}
        }
        None
    }

    /// Shows a line that waits, if there is one.
    fn show(&mut self, watch: &mut dyn FnMut(ProgramEvent<'_>) -> Control) -> Control {
        let go = match self.waiting.pop_front() {
            Some(Line::Out(line)) => {
                self.out.add(&line);
                self.out.add(b"\n");
                watch(ProgramEvent::Out(&String::from_utf8_lossy(&line)))
            }
            Some(Line::Err(line)) => {
                self.err.add(&line);
                self.err.add(b"\n");
                watch(ProgramEvent::Err(&String::from_utf8_lossy(&line)))
            }
            None => return Control::On,
        };
        // However long it took to look at it: the program was not silent.
        self.heard = Instant::now();
        go
    }

    fn look_at_the_clock(&mut self) {
        let now = Instant::now();
        if now - self.begun >= self.limits.whole {
            self.stop(End::TimedOut(self.limits.whole));
        } else if now - self.heard >= self.limits.silence {
            self.stop(End::Silent(self.limits.silence));
        }
    }

    /// Begins to stop the program; the first reason counts.
    fn stop(&mut self, why: End) {
        if self.stopping.is_none() {
            self.stopping = Some((why, 0, Instant::now()));
        }
    }

    /// Skips what is left of the ladder.
    fn hurry(&mut self) {
        self.stop(End::Stopped);
        let last = self.rungs.ladder.len();
        // Past the last rung it is killed already, and its end is waited for.
        if let Some((_, rung, due)) = self.stopping.as_mut().filter(|(_, rung, _)| *rung <= last) {
            (*rung, *due) = (last, Instant::now());
        }
    }

    /// Takes the next rung if it is due; false when there is none left and the program is still there.
    fn climb(&mut self) -> bool {
        let Some((_, rung, due)) = &mut self.stopping else { return true };
        if Instant::now() < *due {
            return true;
        }
        if *rung > self.rungs.ladder.len() {
            return false;
        }
        *due = Instant::now() + self.rungs.step(*rung);
        *rung += 1;
        true
    }

    /// Takes what was said and not yet shown.
    fn last_words(&mut self, watch: &mut dyn FnMut(ProgramEvent<'_>) -> Control) {
        let until = Instant::now() + LAST_OUTPUT;
        while !self.child.is_silent() && Instant::now() < until {
            if self.listen(until).is_some() {
                break;
            }
            while !self.waiting.is_empty() {
                // It has ended: there is nothing left to stop.
                self.show(watch);
            }
        }
        while !self.waiting.is_empty() {
            self.show(watch);
        }
    }

    fn finish(
        self,
        program: &str,
        status: Option<io::Result<ExitStatus>>,
        left_behind: usize,
    ) -> Result<ProgramResult, RunError> {
        let failed = |source| RunError::Wait { program: program.to_owned(), source };
        let gone = || io::Error::new(io::ErrorKind::TimedOut, "it does not end, although it was killed");
        let status = status.unwrap_or_else(|| Err(gone())).map_err(failed)?;
        let end = self.stopping.map_or_else(|| end_of(status), |(why, ..)| why);
        let ((stdout, out_cut), (stderr, err_cut)) = (self.out.finish(), self.err.finish());
        Ok(ProgramResult { end, stdout, stderr, cut: out_cut || err_cut, left_behind })
    }
}
