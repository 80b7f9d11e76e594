//! Places for agents: so many at once on a machine, for a project and with a pool of credentials, and none while memory
//! is short.
//!
//! A place is a file that is held while the agent works. The kernel gives it back when the process is gone, so no crash
//! takes a place for ever.

use std::{
    fmt, fs,
    fs::File,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use engine::{Settings, keys};

use crate::{Dirs, counted, hold::FileLock};

/// What limits the agents at work; zero is no limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    pub machine: u64,
    pub project: u64,
    pub pool: u64,
    /// Megabytes.
    pub free_memory: u64,
}

impl Limits {
    /// Reads them off a run's settings.
    pub fn of(settings: &Settings) -> Self {
        Self {
            machine: settings.get(keys::MAX_AGENTS),
            project: settings.get(keys::MAX_AGENTS_PER_PROJECT),
            pool: settings.get(keys::MAX_AGENTS_PER_POOL),
            free_memory: settings.get(keys::MIN_FREE_MB),
        }
    }
}

/// A place for one agent, until it is dropped.
#[derive(Debug)]
pub struct Seat {
    _held: Vec<FileLock>,
}

/// Why there is no place for another agent now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Full {
    Machine { limit: u64 },
    Project { limit: u64 },
    Pool { pool: String, limit: u64 },
    Memory { free: u64, wanted: u64 },
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = |limit: u64| counted(limit, "agent is", "agents are");
        match self {
            Self::Machine { limit } => {
                write!(f, "{} running on this machine (limit reached: max_agents)", places(*limit))
            }
            Self::Project { limit } => {
                write!(
                    f,
                    "{} running for this project (limit reached: max_agents_per_project)",
                    places(*limit)
                )
            }
            Self::Pool { pool, limit } => write!(
                f,
                "{} running with the pool `{pool}` (limit reached: max_agents_per_pool)",
                places(*limit)
            ),
            Self::Memory { free, wanted } => {
                write!(f, "{free} MB of memory are free; starting an agent takes {wanted} MB (min_free_mb)")
            }
        }
    }
}

/// Why it cannot be told whether there is a place.
#[derive(Debug, thiserror::Error)]
#[error("failed to use `{}`", path.display())]
pub struct AdmissionError {
    path: PathBuf,
    #[source]
    source: io::Error,
}

/// Takes a place for an agent of a project and a pool, if there is one.
pub fn enter(
    dirs: &Dirs,
    limits: &Limits,
    project: &str,
    pool: &str,
) -> Result<Result<Seat, Full>, AdmissionError> {
    if let Some(free) = free_memory().filter(|free| *free < limits.free_memory) {
        return Ok(Err(Full::Memory { free, wanted: limits.free_memory }));
    }
    let directory = dirs.state.join("agents");
    fs::create_dir_all(&directory).map_err(|source| AdmissionError { path: directory.clone(), source })?;
    // A pool's name is a person's text, and no name of a file.
    let digest = engine::digest(pool);
    let name: String = digest.chars().filter(char::is_ascii_alphanumeric).take(16).collect();
    let scopes = [
        ("machine".to_owned(), limits.machine, Full::Machine { limit: limits.machine }),
        (format!("project-{project}"), limits.project, Full::Project { limit: limits.project }),
        (format!("pool-{name}"), limits.pool, Full::Pool { pool: pool.to_owned(), limit: limits.pool }),
    ];
    let mut held = Vec::new();
    for (scope, limit, full) in scopes.into_iter().filter(|(_, limit, _)| *limit > 0) {
        match first_free(&directory, &scope, limit)? {
            Some(place) => held.push(place),
            None => return Ok(Err(full)),
        }
    }
    Ok(Ok(Seat { _held: held }))
}

fn first_free(directory: &Path, scope: &str, limit: u64) -> Result<Option<FileLock>, AdmissionError> {
    for number in 1..=limit {
        let path = directory.join(format!("{scope}.{number}"));
        let open = File::options().create(true).truncate(false).read(true).write(true).open(&path);
        let held = open.and_then(|file| FileLock::take(file, Duration::ZERO));
        if let Some(held) = held.map_err(|source| AdmissionError { path, source })? {
            return Ok(Some(held));
        }
    }
    Ok(None)
}

/// Returns the memory that new programs can have, in megabytes, where the system tells.
fn free_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(machine: u64, project: u64, pool: u64) -> Limits {
        Limits { machine, project, pool, free_memory: 0 }
    }

    fn dirs(root: &Path) -> Dirs {
        Dirs::new(root.join("state"), root.join("config"))
    }

    #[test]
    fn each_scope_has_so_many_places_and_a_dropped_one_is_free_again() {
        let root = tempfile::tempdir().unwrap();
        let dirs = dirs(root.path());
        let take = |limits: &Limits, project, pool| enter(&dirs, limits, project, pool).unwrap();
        let first = take(&limits(3, 1, 2), "a", "x").unwrap();
        assert_eq!(take(&limits(3, 1, 2), "a", "x").unwrap_err(), Full::Project { limit: 1 });
        let second = take(&limits(3, 1, 2), "b", "x").unwrap();
        let full = take(&limits(3, 1, 2), "c", "x").unwrap_err();
        assert_eq!(full, Full::Pool { pool: "x".to_owned(), limit: 2 });
        assert_eq!(take(&limits(2, 1, 2), "c", "y").unwrap_err(), Full::Machine { limit: 2 });
        drop(first);
        let third = take(&limits(2, 1, 2), "a", "x").unwrap();
        drop((second, third));
    }

    #[test]
    fn short_memory_keeps_agents_out() {
        let root = tempfile::tempdir().unwrap();
        let limits = Limits { free_memory: u64::MAX, ..limits(1, 1, 1) };
        let full = enter(&dirs(root.path()), &limits, "a", "x").unwrap().unwrap_err();
        assert!(matches!(full, Full::Memory { wanted: u64::MAX, .. }), "{full}");
    }
}
