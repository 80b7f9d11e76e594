//! What a person finds when a run is over.

use std::{collections::BTreeSet, fmt, fs, path::Path};

use engine::{Record, Time};
use forge::Query;
use journal::sqlite;
use project::{Workspace, slots::Pool};

use super::world::World;
use crate::world::git;

/// Everything that a person can see, without what differs from run to run: times, the run's id, hashes of commits.
pub(crate) struct End(Vec<String>);

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.0.join("\n"))
    }
}

/// Returns which outcomes of the run were found to be done already, and whether it was taken over.
pub(crate) fn settled(world: &World) -> BTreeSet<String> {
    let mut workspace = Workspace::open(world.place(), world.dirs()).unwrap();
    let current = workspace.runs().unwrap().remove(0);
    let records = workspace.records(&current).unwrap();
    let is_settled =
        |record: &&Record| record.data.contains_key("settled") || record.event == *"attempt_started";
    let name = |record: &Record| match record.data.get("pull").or(record.data.get("pr_url")) {
        Some(_) => "pull request".to_owned(),
        None => record.event.to_string(),
    };
    records.iter().filter(is_settled).map(name).collect()
}

impl End {
    pub(crate) fn of(world: &World) -> Self {
        let mut workspace = Workspace::open(world.place(), world.dirs()).unwrap();
        let runs = workspace.runs().unwrap();
        let [current] = &runs[..] else { panic!("there are {} runs", runs.len()) };
        let (run, root) = (current.run.id.to_string(), world.root());
        let mut end = Self(vec![format!("{:?}", current.run.standing)]);
        end.commits("main", &root);
        end.commits("remote", &world.remote());
        end.add("status", &git(&root, &["status", "--porcelain"]));
        end.refs("refs", &root, "refs");
        end.refs("remote's refs", &world.remote(), "refs");
        let mut items = workspace.tracker().items(Query::All).unwrap();
        items.extend(workspace.forge().pulls(Query::All).unwrap());
        items.sort_by_key(|item| item.id);
        for item in items {
            let labels: Vec<&str> = item.labels.iter().map(String::as_str).collect();
            end.0.push(format!("#{} {} {labels:?} {:?}", item.id, item.title, item.state));
            end.add("text", &item.body);
            let mut pull = item.pull.clone();
            pull.iter_mut()
                .flat_map(|pull| &mut pull.rounds)
                .for_each(|round| round.at = Time::from_millis(0));
            end.add("pull", &format!("{pull:?}"));
            item.comments.iter().for_each(|comment| end.add("comment", &comment.text));
        }
        end.journal(world, &mut workspace);
        end.slots(world);
        end.0 = end.0.iter().map(|line| line.replace(&run, "RUN")).collect();
        end.name_commits(&root);
        end
    }

    fn add(&mut self, name: &str, text: &str) {
        let lines = text.lines().filter(|line| !line.starts_with("Started: "));
        self.0.extend(lines.map(|line| format!("{name}: {line}")));
    }

    /// Puts the subjects of commits in the place of their hashes, wherever those stand.
    fn name_commits(&mut self, root: &Path) {
        let is_hash = |word: &&str| word.len() >= 10 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let words = |line: &'_ str| -> Vec<String> {
            line.split(|c: char| !c.is_ascii_alphanumeric()).filter(is_hash).map(str::to_owned).collect()
        };
        let hashes: BTreeSet<String> = self.0.iter().flat_map(|line| words(line)).collect();
        let mut arguments = vec!["log", "--no-walk", "--ignore-missing", "--format=%H %s"];
        arguments.extend(hashes.iter().map(String::as_str));
        let named = git(root, &arguments);
        let named: Vec<(&str, &str)> = named.lines().filter_map(|line| line.split_once(' ')).collect();
        for line in &mut self.0 {
            for hash in words(line) {
                if let Some((_, subject)) = named.iter().find(|(commit, _)| commit.starts_with(&hash)) {
                    *line = line.replace(&hash, &format!("<{subject}>"));
                }
            }
        }
    }

    /// Adds the commits of the target: each by its tree and its message, in their order.
    fn commits(&mut self, name: &str, repository: &Path) {
        self.add(name, &git(repository, &["log", "--reverse", "--format=%T %B", "main"]));
    }

    /// Adds the refs below a name; work is kept under some of them.
    fn refs(&mut self, name: &str, repository: &Path, below: &str) {
        self.add(name, &git(repository, &["for-each-ref", "--format=%(refname) %(objectname)", below]));
    }

    /// Adds what is wrong with the journal. A claim whose holder is gone must be in nobody's way.
    fn journal(&mut self, world: &World, workspace: &mut Workspace) {
        let file = workspace.store_path().unwrap().unwrap();
        // In memory there is nothing to verify.
        if file.exists() {
            self.0.push(format!("journal: {:?}", sqlite::verify(file).unwrap().faults));
        }
        workspace.claim("1").unwrap();
        workspace.release().unwrap();
        let strays = Workspace::open(world.place(), world.dirs()).unwrap().stray_state_files();
        self.0.push(format!("stray: {strays:?}"));
    }

    /// Adds what is in the slots: each can be had by whoever comes next, is clean, and has no half of anything.
    fn slots(&mut self, world: &World) {
        let id = world.place().project_id().unwrap().unwrap();
        let pool = Pool::of(&world.place(), &world.dirs()).unwrap();
        for name in names(&world.dirs().project(&id).join("slots")) {
            let directory = world.dirs().project(&id).canonicalize().unwrap().join("slots").join(&name);
            self.0.push(format!("slot {name}"));
            // Opening it removes what a killed git has left, as whoever uses it next does.
            drop(pool.reopen(&directory.join("tree")).unwrap());
            // What it knows of the person's branches is as old as its last look at them, which is nobody's loss.
            self.refs("slot's branches", &directory.join("git"), "refs/heads");
            self.refs("slot's refs", &directory.join("git"), "refs/warp");
            self.add("slot's tree", &git(&directory.join("tree"), &["status", "--short", "--branch"]));
            self.0.push(format!("slot's git: {:?}", names(&directory.join("git"))));
        }
        self.0.push(format!("set aside: {}", world.dirs().project(&id).join("set-aside").exists()));
    }
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
