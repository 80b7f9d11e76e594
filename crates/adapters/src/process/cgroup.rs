//! A control group for each job: the kernel's own list of all that a program has started.
//!
//! Neither another session nor an empty environment takes a process out of it, and the kernel ends all of it at once. One
//! can be made where version 2 of control groups is mounted and the group of this process is its own to divide, as it is
//! for root and in a session of systemd's that was delegated. Elsewhere a job goes without.

use std::{
    ffi::{OsStr, OsString},
    fs, iter,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::Duration,
};

use rustix::process::getpgid;

use super::{marked, pid_of};
use crate::machine;

/// How the name of a group begins.
pub(super) const PREFIX: &str = "warp.";
/// Joins groups, then becomes the program: whatever that starts is in the groups too. Where it cannot join, the job goes
/// without.
const STAGE: &str = r#"n=$1; shift; while [ "$n" -gt 0 ]; do { echo $$ >"$1"; } 2>/dev/null; shift; n=$((n - 1)); done; exec "$@""#;
const SHELL: &str = "/bin/sh";
/// How long a program may take that says where it is.
const LIMIT: Duration = Duration::from_secs(10);

/// The control group of a job. All that is in it ends with this value.
#[derive(Debug)]
pub(crate) struct Cgroup {
    directory: PathBuf,
    name: String,
}

impl Cgroup {
    /// Makes a group for the job of that name; none where that is not possible.
    pub(crate) fn new(name: &str) -> Option<Self> {
        let directory = place()?.join(format!("{PREFIX}{name}"));
        fs::create_dir(&directory).ok()?;
        Some(Self { directory, name: name.to_owned() })
    }

    /// Returns what to start so that a program begins its life in the group.
    pub(crate) fn stage(&self, program: &OsStr, arguments: &[OsString]) -> (OsString, Vec<OsString>) {
        stage(&[self.directory.join("cgroup.procs")], program, arguments)
    }

    /// Ends all that is in the group, and returns how many processes had left the process group `first`.
    pub(super) fn end(&self, first: u32) -> usize {
        let has_left = |pid: &u32| pid_of(*pid).and_then(|pid| getpgid(Some(pid)).ok()) != pid_of(first);
        let left = self.processes().into_iter().filter(has_left).count();
        self.kill();
        left
    }

    fn kill(&self) {
        // At once, with what is just being started. Kernels before 5.14 cannot, and there one after the other is killed.
        let _ = fs::write(self.directory.join("cgroup.kill"), "1");
        marked::end_all(|pid| holds(pid, &|name| name == self.name), || self.processes(), 1);
    }

    fn processes(&self) -> Vec<u32> {
        let lists = tree(&self.directory).into_iter().map(|group| group.join("cgroup.procs"));
        let text: String = lists.filter_map(|list| fs::read_to_string(list).ok()).collect();
        text.lines().filter_map(|pid| pid.parse().ok()).collect()
    }
}

/// Returns what to start so that a program begins its life in groups, by the files that list their processes.
pub(super) fn stage(procs: &[PathBuf], program: &OsStr, arguments: &[OsString]) -> (OsString, Vec<OsString>) {
    let head = ["-c", STAGE, "sh", &procs.len().to_string()].map(OsString::from);
    let procs = procs.iter().map(|path| path.clone().into_os_string());
    let all = head.into_iter().chain(procs).chain([program.to_owned()]).chain(arguments.iter().cloned());
    (SHELL.into(), all.collect())
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        self.kill();
        remove(&self.directory);
    }
}

/// Tells whether jobs are given a control group of their own here: one is made, and a program begun in it.
pub fn has_cgroups() -> bool {
    let name = marked::name("probe", &machine::random_text(12).unwrap_or_default());
    let Some(group) = Cgroup::new(&name) else { return false };
    let (program, arguments) = group.stage("cat".as_ref(), &["/proc/self/cgroup".into()]);
    let said = super::run(&program.to_string_lossy(), arguments, Path::new("/"), &[], LIMIT);
    said.is_ok_and(|said| said.text().contains(&name))
}

/// Tells whether a process is in the group of a job with such a name.
pub(super) fn holds(pid: u32, is_ours: &impl Fn(&str) -> bool) -> bool {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let mut groups = path_in(&text).unwrap_or_default().split('/');
    groups.any(|group| group.strip_prefix(PREFIX).is_some_and(is_ours))
}

/// Removes the groups of jobs with such names that nothing is in any more.
pub(super) fn remove_all(is_ours: &impl Fn(&str) -> bool) {
    for group in place().map(children).unwrap_or_default() {
        let name = group.file_name().and_then(OsStr::to_str).and_then(|name| name.strip_prefix(PREFIX));
        if name.is_some_and(is_ours) {
            remove(&group);
        }
    }
}

/// Removes a group and those within. One that something is still in stays, and is found by its name later.
fn remove(directory: &Path) {
    for group in tree(directory) {
        let _ = fs::remove_dir(group);
    }
}

/// Returns a group and all within, the innermost first.
fn tree(directory: &Path) -> Vec<PathBuf> {
    let within = children(directory).into_iter().flat_map(|group| tree(&group));
    within.chain(iter::once(directory.to_owned())).collect()
}

pub(super) fn children(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let groups = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    groups.map(|entry| entry.path()).collect()
}

/// Returns the group of this process, in which those of jobs are made.
fn place() -> Option<&'static Path> {
    static PLACE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = PLACE.get_or_init(|| {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        own_group(&mounts, &fs::read_to_string("/proc/self/cgroup").ok()?)
    });
    found.as_deref()
}

/// Finds the directory of a process's group: by what is mounted, and by which groups it is in.
pub(super) fn own_group(mounts: &str, groups: &str) -> Option<PathBuf> {
    let path = path_in(groups)?;
    mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        if !kind.starts_with("cgroup2 ") {
            return None;
        }
        below_mount(mount, path)
    })
}

/// Returns the directory of a group under a mount, of which the line up to its kind is given.
pub(super) fn below_mount(mount: &str, path: &str) -> Option<PathBuf> {
    let mut fields = mount.split(' ').skip(3);
    let (root, point) = (fields.next()?, fields.next()?);
    // Of a group that is not under this mount nothing can be seen here.
    let below = Path::new(path).strip_prefix(root).ok()?;
    let is_plain = !path.contains("..") && !point.contains('\\');
    is_plain.then(|| Path::new(point).join(below))
}

/// Returns the path of a process's group of version 2.
fn path_in(groups: &str) -> Option<&str> {
    groups.lines().find_map(|line| line.strip_prefix("0::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_group_is_found_wherever_it_is_mounted() {
        let unified = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
        let hybrid = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
            40 31 0:37 / /sys/fs/cgroup/systemd rw shared:9 - cgroup cgroup rw,name=systemd\n\
            41 31 0:38 / /sys/fs/cgroup/unified rw shared:10 - cgroup2 cgroup2 rw\n";
        let part = "41 31 0:38 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        for (mounts, groups, found) in [
            (unified, "0::/user.slice/a.scope\n", Some("/sys/fs/cgroup/user.slice/a.scope")),
            (hybrid, "9:name=systemd:/\n0::/\n", Some("/sys/fs/cgroup/unified/")),
            (part, "0::/docker/abc/x\n", Some("/sys/fs/cgroup/x")),
            (part, "0::/elsewhere\n", None),
            (unified, "0::/../../x\n", None),
            (unified, "9:name=systemd:/\n", None),
            ("31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n", "0::/\n", None),
        ] {
            assert_eq!(own_group(mounts, groups).as_deref(), found.map(Path::new), "{groups}");
        }
    }
}
