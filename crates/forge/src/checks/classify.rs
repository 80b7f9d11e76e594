//! Whether a failed step says that the code is wrong, or that what ran it is broken.

/// What made a step fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    Code,
    /// No change of the code would help; running it again may.
    Infra,
}

/// How much of a log's end is looked at, in lines: what failed last.
const LINES: usize = 200;
/// Killed from outside, mostly for want of memory.
const KILLED: i64 = 137;
/// What git ends with if it reaches no server or finds no repository.
const GIT_FATAL: i64 = 128;
/// What is printed where a connection fails, in lower case.
const CONNECTION: [&str; 5] = [
    "failed to connect",
    "connection timed out",
    "tls handshake timeout",
    "could not resolve host",
    "temporary failure in name resolution",
];

/// Says why a step failed, from its name, its exit code and the end of its log.
pub fn classify(step: &str, exit: Option<i64>, log: &str) -> Cause {
    let name = step.to_ascii_lowercase();
    let is_git = name.starts_with("git") || name.contains("clone") || name.contains("checkout");
    let is_broken = exit == Some(KILLED) || (is_git && exit == Some(GIT_FATAL));
    if is_broken || tail(log, LINES).lines().any(is_about_connections) { Cause::Infra } else { Cause::Code }
}

fn is_about_connections(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    let is_slow_pull = line.split_once("docker pull").is_some_and(|(_, after)| after.contains("timeout"));
    is_slow_pull || CONNECTION.iter().any(|pattern| line.contains(pattern))
}

/// Returns the last lines of a text.
fn tail(text: &str, lines: usize) -> &str {
    let ends = text.trim_end().rmatch_indices('\n').nth(lines.saturating_sub(1));
    ends.map_or(text, |(at, _)| &text[at + 1..])
}

/// Reads the exit code that a runner prints at the end of a log.
pub(crate) fn exit_code(log: &str) -> Option<i64> {
    log.lines().rev().find_map(|line| {
        let (_, after) = line.rsplit_once("exit code ").or_else(|| line.rsplit_once("exitcode '"))?;
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_machines_are_told_from_wrong_code() {
        let pull = "docker pull alpine: net/http: request timeout";
        for (step, exit, log, cause) in [
            ("clone", Some(128), "", Cause::Infra),
            ("git-fetch", Some(128), "", Cause::Infra),
            ("Run actions/checkout@v5", Some(128), "", Cause::Infra),
            ("clone", Some(1), "", Cause::Code),
            ("unit", Some(128), "", Cause::Code),
            ("unit", Some(137), "", Cause::Infra),
            ("unit", Some(1), "1 failed", Cause::Code),
            ("unit", None, "", Cause::Code),
            ("unit", Some(1), "curl: (7) Failed to connect to pypi.example", Cause::Infra),
            ("unit", Some(1), "net/http: TLS handshake timeout", Cause::Infra),
            ("build", Some(1), pull, Cause::Infra),
            ("build", Some(1), "docker pull alpine\nassert timeout == 5", Cause::Code),
        ] {
            assert_eq!(classify(step, exit, log), cause, "{step} {exit:?} {log}");
        }
        let old = format!("connection timed out\n{}", "ok\n".repeat(300));
        assert_eq!(classify("unit", Some(1), &old), Cause::Code, "only what failed last counts");
    }

    #[test]
    fn exit_codes_are_read_from_the_end_of_a_log() {
        let log = "exit code 3\nx\n##[error]Process completed with exit code 137.\n";
        assert_eq!(exit_code(log), Some(137));
        assert_eq!(exit_code("exitcode '2': failure"), Some(2));
        assert_eq!([exit_code(""), exit_code("exit code x")], [None; 2]);
    }

    #[test]
    fn a_tail_has_so_many_lines() {
        assert_eq!([tail("a\nb\nc\n", 2), tail("a\nb", 2), tail("", 2)], ["b\nc\n", "a\nb", ""]);
    }
}
