//! A whole `warp run`: many small issues by a scripted agent, beside git alone with the same commits.
//!
//! Each issue has one criterion, so each is one chunk: a branch, an agent's turn, a test, a commit, a report, a test of
//! what is merged, a merge. While it runs it is looked at from outside: how much memory it has, and whether it works
//! itself or waits for a child.

use std::{
    fs,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    process::Child,
    thread,
    time::{Duration, Instant},
};

use engine::Time;
use serde_json::Value;

use super::{
    project::said,
    sandbox::{Call, Sandbox},
    shares::{self, Looker, Shares},
};
use crate::{
    run::{Result, say},
    system::{found, package},
};

/// How many issues are worked on unless the caller says otherwise.
pub(super) const ISSUES: usize = 200;
/// In how many sessions, each after git alone with the same commits: a disk is not as fast in one minute as in the next.
const SESSIONS: usize = 5;
/// How long one issue may take before something is wrong.
const LONGEST: Duration = Duration::from_secs(30);
/// Who commits.
const WHO: &[(&str, &str)] = &[
    ("GIT_AUTHOR_NAME", "Bench"),
    ("GIT_AUTHOR_EMAIL", "bench@localhost"),
    ("GIT_COMMITTER_NAME", "Bench"),
    ("GIT_COMMITTER_EMAIL", "bench@localhost"),
];

/// What a session took, and git alone for the same commits.
struct Session {
    warp: Duration,
    git: Duration,
    /// The most memory that the program itself had at once, in kilobytes.
    peak: u64,
    /// Whose the time was, where that can be seen.
    shares: Option<Shares>,
}

impl Session {
    /// Returns the program's own time against that of git alone.
    fn ratio(&self) -> Option<f64> {
        let shares = self.shares?;
        Some(shares.of(shares.own, self.warp).as_secs_f64() / self.git.as_secs_f64())
    }
}

/// Runs so many issues, and prints what came of it.
pub(super) fn run(sandbox: &Sandbox, warp: &Path, issues: usize) -> Result {
    // Agent and tests are behind walls, and the tests are a makefile's.
    package("bwrap", "bubblewrap");
    package("make", "make");
    say(&format!("running {issues} issues in {SESSIONS} sessions"));
    let bench = Bench { sandbox, warp };
    let (project, git) = (bench.project("drive", issues)?, bench.repository("git-alone")?);
    let mut sessions = Vec::new();
    for session in 0..SESSIONS {
        let part = session * issues / SESSIONS + 1..=(session + 1) * issues / SESSIONS;
        if !part.is_empty() {
            let alone = bench.git_alone(&git, part.clone())?;
            sessions.push(bench.drive(&project, part.count(), alone)?);
        }
    }
    for root in [&project.root, &git] {
        bench.check(root, issues)?;
    }
    let (early, late) = bench.pace(&project.root, issues)?;
    say(&format!("\n{}\n", table(&sessions, issues)));
    let peak = sessions.iter().map(|session| session.peak).max().unwrap_or(0);
    say(&format!("peak memory of `warp run`: {:.1} MB (aim: under 60 MB)", peak as f64 / 1000.0));
    say(&format!("a chunk of the first tenth: {}; of the last: {}", millis(early), millis(late)));
    let mut ratios: Vec<f64> = sessions.iter().filter_map(Session::ratio).collect();
    ratios.sort_by(f64::total_cmp);
    if let Some(median) = ratios.get(ratios.len() / 2) {
        // As it is printed: what looks like as much is not less.
        let met = if (median * 100.0).round() < 100.0 { "aim met" } else { "aim missed" };
        let each = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect::<Vec<_>>().join(", ");
        say(&format!("warp's own time against git alone, by session: {each}"));
        say(&format!("their median: {median:.2} times (aim: less than 1): {met}"));
    }
    Ok(())
}

/// A project with issues, and the agent that works on them.
struct Project {
    root: PathBuf,
    agent: String,
}

#[derive(Clone, Copy)]
struct Bench<'a> {
    sandbox: &'a Sandbox,
    warp: &'a Path,
}

impl Bench<'_> {
    fn git(&self, root: &Path) -> Result<Call> {
        let git = found("git").ok_or("git is not installed")?;
        Ok(self.sandbox.call(&git).with(WHO).word("-C").word(root))
    }

    /// Makes a repository with a first commit.
    fn repository(&self, name: &str) -> Result<PathBuf> {
        let root = self.sandbox.repository(name)?;
        self.git(&root)?.words(&["symbolic-ref", "HEAD", "refs/heads/main"]).check(0)?;
        write(&root.join("Makefile"), "test:\n\t@true\n")?;
        self.git(&root)?.words(&["add", "--all"]).check(0)?;
        self.git(&root)?.words(&["commit", "--quiet", "-m", "chore: begin"]).check(0)?;
        Ok(root)
    }

    /// Makes a project with issues.
    fn project(&self, name: &str, issues: usize) -> Result<Project> {
        let root = self.repository(name)?;
        let texts = self.sandbox.path(&format!("{name}-issues"));
        fs::create_dir(&texts).map_err(|error| format!("{}: {error}", texts.display()))?;
        let mut script = String::new();
        for issue in 1..=issues {
            let text = texts.join(format!("{issue}.md"));
            write(&text, &format!("# Part {issue}\n\n- [ ] part {issue} is there\n"))?;
            let import = self.call(&root).words(&["issue", "import"]).word(&text).word("--approve");
            import.check(0)?;
            script.push_str(&turn(issue));
        }
        let file = texts.join("script.toml");
        write(&file, &script)?;
        Ok(Project { root, agent: format!("script:{}", file.display()) })
    }

    fn call(&self, root: &Path) -> Call {
        self.sandbox.call(self.warp).with(WHO).word("-C").word(root)
    }

    /// Works on so many issues.
    fn drive(&self, project: &Project, issues: usize, git: Duration) -> Result<Session> {
        // One more than the limit ends a session.
        let chunks = format!("max_total_chunks={}", issues - 1);
        let call = self.call(&project.root).words(&[
            "run",
            "--until-empty",
            "--level",
            "3",
            "--agent",
            &project.agent,
        ]);
        let call = call.words(&["--set", "max_session_minutes=4000000000", "--set", &chunks]);
        let longest = LONGEST * u32::try_from(issues).unwrap_or(u32::MAX);
        let started = Instant::now();
        let mut child = call.command()?.spawn().map_err(said)?;
        let (peak, shares) = watch(&mut child, started + longest)?;
        Ok(Session { warp: started.elapsed(), git, peak, shares })
    }

    /// Makes sure that every issue became a commit of the merge target.
    fn check(&self, root: &Path, issues: usize) -> Result {
        let commits = self.git(root)?.words(&["rev-list", "--count", "main"]).output()?;
        if commits.trim() == (issues + 1).to_string() {
            return Ok(());
        }
        Err(format!("of {issues} issues, {} were merged", commits.trim()))
    }

    /// Returns how long a chunk took at the beginning and at the end.
    fn pace(&self, root: &Path, issues: usize) -> Result<(Duration, Duration)> {
        // Every issue has a run of its own, with one commit.
        let committed = |issue: usize| -> Result<i64> {
            let log = self.call(root).words(&["log", &issue.to_string(), "--json"]).output()?;
            let records: Vec<Value> = serde_json::from_str(&log).map_err(said)?;
            let record = records.iter().find(|record| record["event"] == "committed");
            let at = record.map(|record| record["at"].clone()).unwrap_or_default();
            serde_json::from_value::<Time>(at).map(Time::millis).map_err(said)
        };
        let tenth = (issues / 10).max(1).min(issues.saturating_sub(1).max(1));
        let pace = |from: usize, to: usize| -> Result<Duration> {
            let whole = committed(to)? - committed(from)?;
            let steps = u64::try_from(to.saturating_sub(from)).unwrap_or(1).max(1);
            Ok(Duration::from_millis(whole.max(0).unsigned_abs() / steps))
        };
        Ok((pace(1, (1 + tenth).min(issues))?, pace(issues.saturating_sub(tenth).max(1), issues)?))
    }

    /// Makes the same commits on branches of their own and merges them, with nothing but git; returns how long git took.
    fn git_alone(&self, root: &Path, issues: RangeInclusive<usize>) -> Result<Duration> {
        let mut whole = Duration::ZERO;
        for issue in issues {
            let (branch, message) = (format!("feature/issue-{issue}"), format!("feat: add part {issue}"));
            write(&root.join(format!("src/{issue}.txt")), &format!("part {issue}\n"))?;
            let commands: [&[&str]; 5] = [
                &["switch", "--quiet", "-c", &branch],
                &["add", "--all"],
                &["commit", "--quiet", "-m", &message],
                &["switch", "--quiet", "main"],
                &["merge", "--quiet", "--ff-only", &branch],
            ];
            for words in commands {
                let call = self.git(root)?.words(words);
                let started = Instant::now();
                call.check(0)?;
                whole += started.elapsed();
            }
        }
        Ok(whole)
    }
}

/// Returns an agent's turn for an issue.
fn turn(issue: usize) -> String {
    format!(
        "[[turn]]\nphase = \"coding\"\nissue = {issue}\n\
         steps = [{{ write = \"src/{issue}.txt\", text = \"part {issue}\\n\" }}]\n\
         answer = {{ summary = \"done\", evidence = [{{ ac = \"AC-01\", file = \"src/{issue}.txt\", line = 1 }}], \
         commit = {{ type = \"feat\", subject = \"add part {issue}\" }} }}\n\n"
    )
}

/// Waits for a program to end well; returns the most memory that it had, and whose the time was.
fn watch(child: &mut Child, deadline: Instant) -> Result<(u64, Option<Shares>)> {
    let status = format!("/proc/{}/status", child.id());
    let mut looker = Looker::of(child.id());
    let mut peak = 0;
    loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = now.unwrap_or(peak);
        match child.try_wait().map_err(said)? {
            Some(status) if status.success() => return Ok((peak, looker.map(|looker| looker.shares))),
            Some(status) => return Err(format!("`warp run` ended with {status}")),
            None if Instant::now() > deadline => {
                child.kill().and_then(|()| child.wait()).map_err(said)?;
                return Err("`warp run` does not end".to_owned());
            }
            None => {
                if let Some(looker) = &mut looker {
                    looker.look();
                }
                thread::sleep(shares::EVERY);
            }
        }
    }
}

/// Shows the time of all sessions, for one issue.
fn table(sessions: &[Session], issues: usize) -> String {
    let each = |of: &dyn Fn(&Session) -> Duration| {
        sessions.iter().map(of).sum::<Duration>() / u32::try_from(issues).unwrap_or(u32::MAX)
    };
    let share = |part: fn(&Shares) -> usize| {
        each(&|session| {
            session.shares.map_or(Duration::ZERO, |shares| shares.of(part(&shares), session.warp))
        })
    };
    let mut rows = vec![("warp run", each(&|session| session.warp))];
    if sessions.iter().all(|session| session.shares.is_some()) {
        rows.extend([
            ("of that, its git processes", share(|shares| shares.git)),
            ("of that, the agent", share(|shares| shares.agent)),
            ("of that, the tests, twice", share(|shares| shares.tests)),
            ("of that, warp itself", share(|shares| shares.own)),
        ]);
    }
    rows.push(("git alone, the same commits", each(&|session| session.git)));
    let mut lines = vec![
        "| What                        |  A chunk |".to_owned(),
        "| --------------------------- | -------: |".to_owned(),
    ];
    lines.extend(rows.iter().map(|(what, time)| format!("| {what:<27} | {:>8} |", millis(*time))));
    lines.join("\n")
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

fn write(path: &Path, text: &str) -> Result {
    let failed = |error| format!("{}: {error}", path.display());
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(failed)?;
    }
    fs::write(path, text).map_err(failed)
}
