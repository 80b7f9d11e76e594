//! Counting instructions and system calls, where there are tools for it.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use super::{measure::Row, sandbox::Sandbox};
use crate::{
    run::{Result, say},
    system::found,
};

/// Counts for all rows. A tool that is missing or fails leaves its column empty.
pub(super) fn all(rows: &mut [Row<'_>], sandbox: &Sandbox) -> Result {
    let (valgrind, strace) = (found("valgrind"), found("strace"));
    for (tool, purpose) in [(&valgrind, "valgrind for instructions"), (&strace, "strace for system calls")] {
        say(&match tool {
            Some(_) => format!("counting with {purpose}"),
            None => format!("not counting: {purpose} is not installed"),
        });
    }
    for row in rows.iter_mut().filter(|row| row.missing.is_none()) {
        if let Some(strace) = &strace {
            row.counts.system_calls = system_calls(row, strace, &sandbox.path("strace"))?;
        }
        if let Some(valgrind) = valgrind.as_ref().filter(|_| row.is_exact) {
            row.counts.instructions = instructions(row, valgrind, sandbox)?;
        }
    }
    Ok(())
}

/// Counts the instructions of a row's processes in user space.
fn instructions(row: &mut Row<'_>, valgrind: &Path, sandbox: &Sandbox) -> Result<Option<u64>> {
    let total = |text: &str| {
        text.lines().find_map(|line| line.strip_prefix("totals: ")?.parse::<u64>().ok()).unwrap_or(0)
    };
    row.prepare()?;
    let directory = sandbox.path("callgrind");
    let failed = |error| format!("{}: {error}", directory.display());
    fs::create_dir_all(&directory).map_err(failed)?;
    let mut output = OsString::from("--callgrind-out-file=");
    output.push(directory.join("%p"));
    let arguments = ["--tool=callgrind", "--trace-children=yes", "--quiet"].map(OsString::from);
    let mut command = row.call.under(valgrind, &[arguments.as_slice(), &[output]].concat())?;
    if command.status().is_err() {
        return Ok(None);
    }
    let entries = fs::read_dir(&directory).map_err(failed)?;
    let mut sum = 0;
    for entry in entries {
        sum += total(&fs::read_to_string(entry.map_err(failed)?.path()).unwrap_or_default());
    }
    fs::remove_dir_all(&directory).map_err(failed)?;
    Ok(Some(sum).filter(|sum| *sum > 0))
}

/// Counts the system calls of a row's processes.
fn system_calls(row: &mut Row<'_>, strace: &Path, output: &PathBuf) -> Result<Option<u64>> {
    row.prepare()?;
    let mut arguments = ["-c", "-f", "-o"].map(OsString::from).to_vec();
    arguments.push(output.into());
    if row.call.under(strace, &arguments)?.status().is_err() {
        return Ok(None);
    }
    Ok(total_calls(&fs::read_to_string(output).unwrap_or_default()))
}

/// Reads the last line of a table whose columns are share, seconds, microseconds a call, calls, errors, name.
fn total_calls(table: &str) -> Option<u64> {
    let total = table.lines().rev().find(|line| line.trim_end().ends_with(" total"))?;
    total.split_ascii_whitespace().nth(3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_found_with_and_without_errors() {
        let table = "% time     seconds  usecs/call     calls    errors syscall\n\
                     ------ ----------- ----------- --------- --------- ----------------\n\
                     100.00    0.000120           3        36         3 total\n";
        assert_eq!(total_calls(table), Some(36));
        assert_eq!(total_calls("100.00    0.000000           0         7           total\n"), Some(7));
        assert_eq!(total_calls("strace: ptrace: Operation not permitted\n"), None);
    }
}
