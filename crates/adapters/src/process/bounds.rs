//! How much of the machine a job may use.
//!
//! Memory and processes of a whole job are bounded by control groups, of version 2 where their controllers were handed to
//! the group of this process, and of version 1 where their hierarchies can be written. Elsewhere the sandbox itself bounds
//! what it can.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
    thread,
    time::Duration,
};

use super::{
    cgroup::{PREFIX, below_mount, children, own_group},
    marked,
};

/// How often, and how far apart, a group is tried to be removed whose last process is just ending.
const TRIES: usize = 20;
const PAUSE: Duration = Duration::from_millis(10);

/// How much a job may use, in bytes and processes; zero is no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Processes and threads at once.
    pub processes: u64,
    pub memory: u64,
    /// Each temporary directory.
    pub temporary: u64,
    /// The largest file.
    pub file: u64,
}

/// What a control group can bound, and the files that say how much, in both versions.
#[derive(Clone, Copy)]
enum Controller {
    Memory,
    Processes,
}

impl Controller {
    const ALL: [Self; 2] = [Self::Memory, Self::Processes];

    fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processes => "pids",
        }
    }

    fn files(self) -> [&'static str; 2] {
        match self {
            Self::Memory => ["memory.max", "memory.limit_in_bytes"],
            Self::Processes => ["pids.max", "pids.max"],
        }
    }

    fn of(self, bounds: Bounds) -> u64 {
        match self {
            Self::Memory => bounds.memory,
            Self::Processes => bounds.processes,
        }
    }

    /// Returns the group of this process in which one with this controller can be made.
    fn place(self) -> Option<&'static Path> {
        static PLACES: OnceLock<[Option<PathBuf>; 2]> = OnceLock::new();
        let found = PLACES.get_or_init(|| {
            let read = |path| fs::read_to_string(path).unwrap_or_default();
            let (mounts, groups) = (read("/proc/self/mountinfo"), read("/proc/self/cgroup"));
            Self::ALL.map(|controller| {
                let unified = own_group(&mounts, &groups).filter(|group| controller.is_handed_on(group));
                let place = unified.or_else(|| first_version(&mounts, &groups, controller.name()))?;
                sweep(&place);
                Some(place)
            })
        });
        found[self as usize].as_deref()
    }

    fn is_handed_on(self, group: &Path) -> bool {
        let text = fs::read_to_string(group.join("cgroup.subtree_control")).unwrap_or_default();
        text.split_whitespace().any(|word| word == self.name())
    }
}

/// The cgroups that limit a job; removed on drop.
#[derive(Debug)]
pub(super) struct JobCgroups {
    directories: Vec<PathBuf>,
}

impl JobCgroups {
    /// Makes groups with these bounds for the job of that name, as far as that is possible.
    pub(super) fn new(name: &str, bounds: Bounds) -> Self {
        let mut made = Self { directories: Vec::new() };
        for controller in Controller::ALL {
            let most = controller.of(bounds);
            if let Some(place) = controller.place().filter(|_| most > 0) {
                made.add(place.join(format!("{PREFIX}{name}")), controller, most);
            }
        }
        made
    }

    fn add(&mut self, directory: PathBuf, controller: Controller, most: u64) {
        // Both controllers may be in the same hierarchy.
        if !self.directories.contains(&directory) {
            if fs::create_dir(&directory).is_err() {
                return;
            }
            self.directories.push(directory.clone());
        }
        let file = controller.files().into_iter().map(|name| directory.join(name)).find(|path| path.exists());
        // Where it cannot be written there is no bound; `in_force` tells.
        let _ = file.map(|file| fs::write(file, most.to_string()));
    }

    /// Returns the files by which a process joins the groups.
    pub(super) fn procs(&self) -> Vec<PathBuf> {
        self.directories.iter().map(|directory| directory.join("cgroup.procs")).collect()
    }
}

impl Drop for JobCgroups {
    fn drop(&mut self) {
        for directory in &self.directories {
            for _ in 0..TRIES {
                if fs::remove_dir(directory).is_ok() || !directory.exists() {
                    break;
                }
                thread::sleep(PAUSE);
            }
        }
    }
}

/// Tells whether memory, and whether processes, of a whole job are bounded by a control group here: one is made.
pub fn in_force() -> (bool, bool) {
    // Any numbers will do that every system takes.
    let wanted = Bounds { processes: 1 << 10, memory: 1 << 30, ..Bounds::default() };
    let bounded = JobCgroups::new(&marked::name("probe", "bounds"), wanted);
    let is_bound = |controller: Controller| {
        let groups = bounded.directories.iter();
        let files = groups.flat_map(|group| controller.files().map(|file| group.join(file)));
        let mut texts = files.filter_map(|file| fs::read_to_string(file).ok());
        texts.any(|text| text.trim() == controller.of(wanted).to_string())
    };
    (is_bound(Controller::Memory), is_bound(Controller::Processes))
}

/// Returns so many hundredths of the machine's memory, in bytes; zero where the system does not tell how much it has.
pub fn share_of_memory(percent: u64) -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB"));
    let kilobytes: u64 = line.and_then(|line| line.trim().parse().ok()).unwrap_or_default();
    kilobytes / 100 * percent.min(100) * 1024
}

/// Removes groups that a `warp` has left behind which is no more.
fn sweep(place: &Path) {
    for group in children(place) {
        let name =
            group.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(PREFIX));
        if name.is_some_and(marked::has_no_driver) {
            // One that something is still in stays.
            let _ = fs::remove_dir(group);
        }
    }
}

/// Finds the directory of a process's group in the hierarchy of version 1 that has a controller, if it can be written.
fn first_version(mounts: &str, groups: &str, controller: &str) -> Option<PathBuf> {
    let has = |list: &str| list.split(',').any(|word| word == controller);
    let path = groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        fields.next().filter(|list| has(list))?;
        fields.next()
    })?;
    mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let options = kind.strip_prefix("cgroup ")?.rsplit(' ').next()?;
        if !has(options) {
            return None;
        }
        below_mount(mount, path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hierarchy_of_version_1_is_found_by_its_controller() {
        let mounts = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
            40 31 0:37 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n\
            41 31 0:38 /docker/x /sys/fs/cgroup/cpu,pids rw - cgroup cgroup rw,cpu,pids\n\
            42 31 0:39 / /sys/fs/cgroup/unified rw shared:10 - cgroup2 cgroup2 rw\n";
        let groups = "9:memory:/a/b\n8:cpu,pids:/docker/x/y\n7:cpuset:/\n0::/\n";
        let found = |controller| first_version(mounts, groups, controller);
        assert_eq!(found("memory").as_deref(), Some(Path::new("/sys/fs/cgroup/memory/a/b")));
        assert_eq!(found("pids").as_deref(), Some(Path::new("/sys/fs/cgroup/cpu,pids/y")));
        assert_eq!(found("cpuset"), None);
        assert_eq!(found("io"), None);
    }
}
