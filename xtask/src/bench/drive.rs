//! A whole `warp run`: many small issues by a scripted agent, beside git alone with the same commits.
//!
//! Each issue has one criterion, so each is one chunk: a branch, an agent's turn, a test, a commit, a report, a test of
//! what is merged, a merge. While it runs it is looked at from outside: how much memory it has, and whether it works
//! itself or waits for a child.

use std::{
    fs,
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
/// How long one issue may take before something is wrong.
const LONGEST: Duration = Duration::from_secs(30);
/// Who commits.
const WHO: &[(&str, &str)] = &[
    ("GIT_AUTHOR_NAME", "Bench"),
    ("GIT_AUTHOR_EMAIL", "bench@localhost"),
    ("GIT_COMMITTER_NAME", "Bench"),
    ("GIT_COMMITTER_EMAIL", "bench@localhost"),
];
/// Limits that no benchmark reaches.
const NO_LIMITS: [&str; 4] =
    ["--set", "max_session_minutes=4000000000", "--set", "max_total_chunks=4000000000"];

/// What a run took.
struct Driven {
    elapsed: Duration,
    /// The most memory that the program itself had at once, in kilobytes.
    peak: u64,
    /// How long the first tenth of the chunks took and how long the last, each.
    early: Duration,
    late: Duration,
    /// Whose the time was, where that can be seen.
    shares: Option<Shares>,
}

/// Runs so many issues, and prints what came of it.
pub(super) fn run(sandbox: &Sandbox, warp: &Path, issues: usize) -> Result {
    // Agent and tests are behind walls, and the tests are a makefile's.
    package("bwrap", "bubblewrap");
    package("make", "make");
    say(&format!("running {issues} issues"));
    let bench = Bench { sandbox, warp };
    // Before and after, because a disk is not as fast in one minute as in the next.
    let before = bench.git_alone("git-before", issues)?;
    let driven = bench.drive(issues)?;
    let after = bench.git_alone("git-after", issues)?;
    let git = (before + after) / 2;
    let each = |whole: Duration| whole / u32::try_from(issues).unwrap_or(u32::MAX);
    let (warp, git) = (each(driven.elapsed), each(git));
    say(&format!("\n{}\n", table(warp, git, driven.shares)));
    say(&format!("peak memory of `warp run`: {:.1} MB (aim: under 60 MB)", driven.peak as f64 / 1000.0));
    say(&format!(
        "a chunk of the first tenth: {}; of the last: {}",
        millis(driven.early),
        millis(driven.late)
    ));
    if let Some(shares) = driven.shares {
        let ratio = shares.of(shares.own, warp).as_secs_f64() / git.as_secs_f64();
        let met = if ratio < 1.0 { "aim met" } else { "aim missed" };
        say(&format!("warp's own time against git alone: {ratio:.2} times (aim: less than 1): {met}"));
    }
    Ok(())
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

    /// Makes a project with issues, and returns a call that works on all of them.
    fn project(&self, name: &str, issues: usize) -> Result<(PathBuf, Call)> {
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
        let agent = format!("script:{}", file.display());
        let call = self.call(&root).words(&["run", "--until-empty", "--level", "3", "--agent", &agent]);
        Ok((root, call.words(&NO_LIMITS)))
    }

    fn call(&self, root: &Path) -> Call {
        self.sandbox.call(self.warp).with(WHO).word("-C").word(root)
    }

    /// Works on so many issues.
    fn drive(&self, issues: usize) -> Result<Driven> {
        let (root, call) = self.project("drive", issues)?;
        let longest = LONGEST * u32::try_from(issues).unwrap_or(u32::MAX);
        let started = Instant::now();
        let mut child = call.command()?.spawn().map_err(said)?;
        let (peak, shares) = watch(&mut child, started + longest)?;
        let elapsed = started.elapsed();
        self.check(&root, issues)?;
        let (early, late) = self.pace(&root, issues)?;
        Ok(Driven { elapsed, peak, early, late, shares })
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
    fn git_alone(&self, name: &str, issues: usize) -> Result<Duration> {
        let root = self.repository(name)?;
        let mut whole = Duration::ZERO;
        for issue in 1..=issues {
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
                let call = self.git(&root)?.words(words);
                let started = Instant::now();
                call.check(0)?;
                whole += started.elapsed();
            }
        }
        self.check(&root, issues)?;
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

fn table(warp: Duration, git: Duration, shares: Option<Shares>) -> String {
    let mut rows = vec![("warp run", warp)];
    if let Some(shares) = shares {
        rows.extend([
            ("of that, its git processes", shares.of(shares.git, warp)),
            ("of that, the agent", shares.of(shares.agent, warp)),
            ("of that, the tests, twice", shares.of(shares.tests, warp)),
            ("of that, warp itself", shares.of(shares.own, warp)),
        ]);
    }
    rows.push(("git alone, the same commits", git));
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
