//! The machine: its clock, its boot id, its processes, its random numbers.

mod kin;

use std::{
    env, fs,
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

use engine::{Owner, RunId, Time};

pub use kin::{descends_from, is_cut_off_from};

/// Returns the number of the user that this process acts as.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns the path that a variable holds, if it is an absolute one.
pub fn absolute(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Returns the directory for warp's state; none if neither `XDG_STATE_HOME` nor `HOME` is set.
pub fn state_directory() -> Option<PathBuf> {
    let in_home = || absolute("HOME").map(|home| home.join(".local/state"));
    absolute("XDG_STATE_HOME").or_else(in_home).map(|state| state.join("warp"))
}

/// Returns the number of the namespace in which this process has its own number.
pub(crate) fn pid_namespace() -> u64 {
    let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let digits: String = link.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_default()
}

/// Returns the machine's time. Whatever may be simulated asks a [`crate::clock::Clock`].
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Describes a process so that a later one with the same number is not taken for it.
pub fn owner(pid: u32) -> Owner {
    Owner { pid, boot_id: boot_id(), start_ticks: start_ticks(pid), host: Some(host()), session: None }
}

/// Tells whether a run's owner is still the process that it was.
pub fn is_live(owner: &Owner) -> bool {
    is_here(owner)
        && owner.start_ticks.is_some()
        && owner.boot_id == boot_id()
        && start_ticks(owner.pid) == owner.start_ticks
}

/// Tells whether a run's owner is a process of this machine: of another's it cannot be told whether it lives.
pub fn is_here(owner: &Owner) -> bool {
    owner.host.as_ref().is_none_or(|known| *known == host())
}

/// Returns the name of this machine, by which its processes are told from those of others.
pub fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim().to_owned();
    let id = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    match id.trim().get(..8) {
        Some(id) => format!("{name} ({id})"),
        None => name,
    }
}

/// Returns the directory that a process works in, if that can be told.
pub fn directory(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// How many generations of processes are looked at.
const GENERATIONS: usize = 4096;

/// Tells whether this process is within the walls that Codex puts around its commands. There the processes are counted
/// anew, so that nothing descends from anything outside; the first of them is the client's own.
pub fn is_walled_in() -> bool {
    // The name alone is told much faster than all the rest about a process.
    fs::read("/proc/1/comm").is_ok_and(|name| name.starts_with(b"codex"))
}

/// Returns the processes that there are.
pub(crate) fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Returns the number that was last given to a process.
pub(crate) fn newest_process() -> Option<u32> {
    fs::read_to_string("/proc/loadavg").ok()?.split_ascii_whitespace().last()?.parse().ok()
}

/// Returns this process and those above it.
pub(crate) fn lineage() -> Vec<u32> {
    let mut all = vec![std::process::id()];
    let mut pid = parent();
    while let Some(process) = process(pid).filter(|_| all.len() < GENERATIONS) {
        all.push(pid);
        pid = process.parent;
    }
    all
}

/// Returns a process that `pid` has started and that still runs.
pub(crate) fn child_of(pid: u32) -> Option<u32> {
    processes().find(|child| process(*child).is_some_and(|process| process.parent == pid))
}

/// Returns the process id of whoever started this program.
pub fn parent() -> u32 {
    std::os::unix::process::parent_id()
}

/// Ends this process as if it had been killed.
pub fn kill_self() {
    // It does not return if it succeeds.
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
}

/// Makes a new run id: short enough to type, long enough not to meet another.
pub fn new_run_id() -> std::io::Result<RunId> {
    Ok(RunId::new(random_text(10)?))
}

/// Returns `length` random characters that are easy to tell apart.
pub fn random_text(length: usize) -> std::io::Result<String> {
    const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let mut bytes = vec![0; length];
    fill_randomly(&mut bytes)?;
    Ok(bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect())
}

/// Returns a random UUID (version 4).
pub fn random_uuid() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    fill_randomly(&mut bytes)?;
    Ok(uuid(bytes))
}

/// Spells bytes as a UUID, with the bits that say that they are random.
fn uuid(mut bytes: [u8; 16]) -> String {
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if [4, 6, 8, 10].contains(&index) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

fn fill_randomly(bytes: &mut [u8]) -> std::io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(())
}

fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// Returns when a process started, in ticks since boot; none if it is gone.
fn start_ticks(pid: u32) -> Option<u64> {
    process(pid).map(|process| process.start_ticks)
}

/// What the kernel tells about a process.
struct Process {
    name: String,
    parent: u32,
    /// The number of its terminal; zero if it has none.
    terminal: i64,
    start_ticks: u64,
}

fn process(pid: u32) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The name in parentheses may hold anything; what follows it is counted from the last one.
    let (name, rest) = stat.rsplit_once(')')?;
    let name = name.split_once('(')?.1.to_owned();
    let mut after_name = rest.split_ascii_whitespace();
    // One that has ended and is not yet waited for carries nothing on.
    if matches!(after_name.next()?, "Z" | "X") {
        return None;
    }
    let parent = after_name.next()?.parse().ok()?;
    let terminal = after_name.nth(2)?.parse().ok()?;
    let start_ticks = after_name.nth(14)?.parse().ok()?;
    Some(Process { name, parent, terminal, start_ticks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_uuid_says_that_it_is_one() {
        assert_eq!(uuid([0xff; 16]), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(uuid([0; 16]), "00000000-0000-4000-8000-000000000000");
    }

    #[test]
    fn this_process_is_live_and_one_that_started_at_another_time_is_not() {
        let owner = owner(std::process::id());
        assert!(is_live(&owner));
        assert!(!is_live(&Owner { start_ticks: owner.start_ticks.map(|ticks| ticks + 1), ..owner.clone() }));
        assert!(!is_live(&Owner { boot_id: "another boot".to_owned(), ..owner.clone() }));
        assert!(!is_live(&Owner { host: Some("another".to_owned()), ..owner.clone() }));
        assert!(!is_live(&Owner { start_ticks: None, ..owner }));
    }

    #[test]
    fn a_process_descends_from_its_parent_and_not_from_itself_or_from_an_earlier_one_of_the_same_number() {
        let parent = owner(parent());
        assert!(descends_from(&parent));
        assert!(!descends_from(&Owner { start_ticks: parent.start_ticks.map(|ticks| ticks + 1), ..parent }));
        assert!(!descends_from(&owner(std::process::id())));
    }

    #[test]
    fn run_ids_differ() {
        assert_ne!(new_run_id().unwrap(), new_run_id().unwrap());
    }
}
