//! Whose the time of a `warp run` is: a thousand times a second it is looked which children the program has.

use std::{collections::HashMap, fs, time::Duration};

/// How often it is looked.
pub(super) const EVERY: Duration = Duration::from_millis(1);

/// How often somebody was seen at work.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Shares {
    pub(super) git: usize,
    pub(super) agent: usize,
    /// Whatever else is behind walls.
    pub(super) tests: usize,
    /// The program itself, with no child at work.
    pub(super) own: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    Git,
    Agent,
    Tests,
}

/// Looks at the children of one process.
pub(super) struct Looker {
    process: u32,
    known: HashMap<u32, Who>,
    /// How often in a row a child was about to begin: that is for whoever it turns out to be.
    starting: usize,
    pub(super) shares: Shares,
}

/// What a child does.
enum Doing {
    Starting,
    Work(Who),
    Nothing,
}

impl Looker {
    /// Looks at the children of a process; nothing where the kernel does not tell them.
    pub(super) fn of(process: u32) -> Option<Self> {
        let list = format!("/proc/{process}/task/{process}/children");
        let looker = Self { process, known: HashMap::new(), starting: 0, shares: Shares::default() };
        fs::metadata(list).is_ok().then_some(looker)
    }

    /// Looks once.
    pub(super) fn look(&mut self) {
        let children = self.children();
        // A number may be given to another process later.
        self.known.retain(|child, _| children.contains(child));
        let mut is_starting = false;
        let mut seen = None;
        for child in children {
            match self.doing(child) {
                Doing::Starting => is_starting = true,
                Doing::Work(who) => seen = Some(who),
                Doing::Nothing => {}
            }
        }
        self.starting += 1;
        let share = match seen {
            None if is_starting => return,
            None => &mut self.shares.own,
            Some(Who::Git) => &mut self.shares.git,
            Some(Who::Agent) => &mut self.shares.agent,
            Some(Who::Tests) => &mut self.shares.tests,
        };
        *share += std::mem::take(&mut self.starting);
    }

    /// Returns the children that any thread has started.
    fn children(&self) -> Vec<u32> {
        let threads = fs::read_dir(format!("/proc/{}/task", self.process)).into_iter().flatten().flatten();
        let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
        lists
            .flat_map(|list| {
                list.split_whitespace().filter_map(|child| child.parse().ok()).collect::<Vec<_>>()
            })
            .collect()
    }

    fn doing(&mut self, child: u32) -> Doing {
        let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        // The state stands behind the name, which is in parentheses.
        let parts = stat.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')'));
        match parts {
            None => Doing::Nothing,
            Some((_, rest)) if rest.trim_start().starts_with('Z') => Doing::Nothing,
            Some(("git", _)) => Doing::Work(Who::Git),
            Some(("bwrap", _)) => Doing::Work(self.behind_walls(child)),
            // It is still the program itself, about to become another.
            Some(_) => Doing::Starting,
        }
    }

    fn behind_walls(&mut self, child: u32) -> Who {
        *self.known.entry(child).or_insert_with(|| {
            let line = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            let is_agent = line.split(|byte| *byte == 0).any(|word| word == b"agent-script");
            if is_agent { Who::Agent } else { Who::Tests }
        })
    }
}

impl Shares {
    /// Returns a share of a time.
    pub(super) fn of(&self, part: usize, time: Duration) -> Duration {
        let all = (self.git + self.agent + self.tests + self.own).max(1);
        time.mul_f64(part as f64 / all as f64)
    }
}
