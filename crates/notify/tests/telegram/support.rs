//! A run that asks, a bot that speaks for it, and people who answer.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, time::Duration};

use engine::{Actor, Event, EventName, Standing};
use notify::{
    AwayMode, DeliveryResult, Memory, PollResult, RunRef, RunSender, Wake, hear,
    telegram::Telegram as Channel,
};
use project::{Decided, Dirs, Place, Request, Workspace};
use serde_json::Map;
use tempfile::TempDir;
use testkit::telegram::{TOKEN, Telegram};

/// People who may decide, and one who may not.
pub(crate) const ANN: (i64, &str) = (501, "Ann");
pub(crate) const BOB: (i64, &str) = (502, "Bob");
pub(crate) const EVE: (i64, &str) = (666, "Eve");

/// A project with an open run, and a bot.
pub(crate) struct Scene {
    pub(crate) telegram: Telegram,
    pub(crate) dirs: Dirs,
    pub(crate) root: PathBuf,
    pub(crate) run: String,
    _directory: TempDir,
}

impl Scene {
    pub(crate) fn new(chats: &str) -> Self {
        let telegram = Telegram::start();
        let directory = TempDir::with_prefix("warp-away-").unwrap();
        let root = directory.path().join("demo");
        fs::create_dir_all(&root).unwrap();
        let dirs = Dirs::new(directory.path().join("state"), directory.path().join("config"));
        fs::create_dir_all(&dirs.config).unwrap();
        let config =
            format!("[rdb]\nenabled = true\nchats = \"{chats}\"\napi = \"{}\"\n", telegram.address());
        fs::write(dirs.config.join("config.toml"), config).unwrap();
        let token = dirs.config.join("telegram-token");
        fs::write(&token, format!("{TOKEN}\n")).unwrap();
        fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
        let mut scene = Self { telegram, dirs, root, run: String::new(), _directory: directory };
        scene.run = begun(&mut scene.workspace(), "42");
        scene
    }

    /// Begins a run in another project of the same person.
    pub(crate) fn another(&self) -> RunRef {
        let root = self.root.with_file_name("other");
        fs::create_dir_all(&root).unwrap();
        let place = Place::at(&root).unwrap();
        let run = begun(&mut Workspace::open(place.clone(), self.dirs.clone()).unwrap(), "7");
        RunRef::run(&place, &run)
    }

    /// Switches away mode in this project, as `warp rdb` does.
    pub(crate) fn switch(&self, on: bool) {
        fs::create_dir_all(self.root.join(".claude")).unwrap();
        let settings = serde_json::json!({ "_rdb": { "enabled": on } });
        fs::write(self.root.join(".claude/settings.local.json"), settings.to_string()).unwrap();
    }

    pub(crate) fn place(&self) -> Place {
        Place::at(&self.root).unwrap()
    }

    pub(crate) fn workspace(&self) -> Workspace {
        Workspace::open(self.place(), self.dirs.clone()).unwrap()
    }

    pub(crate) fn of(&self) -> RunRef {
        RunRef::run(&self.place(), &self.run)
    }

    pub(crate) fn reach(&self) -> AwayMode {
        AwayMode::of(&self.place(), &self.dirs, &[])
    }

    /// Offers events to the run, and expects each to be taken.
    pub(crate) fn events(&self, names: &[&str]) {
        let mut workspace = self.workspace();
        for name in names {
            let event = Event::Named(EventName::new(*name));
            workspace
                .ask_as(Actor::Person, event, Map::new())
                .unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    /// Brings the run to where chunks are worked on.
    pub(crate) fn coding(&self) {
        self.events(&["prerequisites_ok", "work_selected", "plan_ready"]);
        let chunks = serde_json::json!({ "acs": [["AC-01"], ["AC-02"]] });
        let data = chunks.as_object().unwrap().clone();
        self.workspace().ask(Event::Named(EventName::new("chunks_defined")), data).unwrap();
    }

    /// Lets the agent ask; returns the decision's id.
    pub(crate) fn question(&self, text: &str) -> String {
        let event = Event::QuestionAsked {
            kind: "ambiguity".to_owned(),
            question: text.to_owned(),
            options: vec!["yes".to_owned(), "no".to_owned()],
        };
        let answer = self.workspace().ask_as(Actor::Agent, event, Map::new()).unwrap();
        let Standing::Parked { decision } = &answer.current.run.standing else { panic!("it is not parked") };
        decision.id.clone()
    }

    /// Returns what was decided, and how often.
    pub(crate) fn decided(&self, id: &str) -> (Option<Decided>, usize) {
        let mut workspace = self.workspace();
        let current = workspace.select(Some(&self.run)).unwrap().unwrap();
        let records = workspace.records(&current).unwrap();
        let is_answer =
            |record: &&engine::Record| record.event == *"decision_answered" && record.data["decision"] == id;
        let count = records.iter().filter(is_answer).count();
        (workspace.decided(&current, id).unwrap(), count)
    }

    /// A process that sends and listens.
    pub(crate) fn process(&self) -> Process {
        let AwayMode::Telegram(bot) = self.reach() else { panic!("{:?}", self.reach()) };
        let channel = Channel::new(bot, Wake::default()).unwrap();
        let memory = Memory::open(&self.dirs, notify::Channel::key(&channel)).unwrap();
        let courier = RunSender::new(&self.dirs, self.of()).unwrap();
        Process { dirs: self.dirs.clone(), channel, memory, courier, notes: Vec::new() }
    }
}

fn begun(workspace: &mut Workspace, issue: &str) -> String {
    let request = Request {
        workflow: Some("warp-drive".to_owned()),
        issue: Some(issue.to_owned()),
        level: Some(2),
        ..Request::default()
    };
    workspace.begin(request).unwrap().current.run.id.to_string()
}

/// What one process has in its hands.
pub(crate) struct Process {
    dirs: Dirs,
    pub(crate) channel: Channel,
    pub(crate) memory: Memory,
    courier: RunSender,
    pub(crate) notes: Vec<String>,
}

impl Process {
    pub(crate) fn deliver(&mut self) -> DeliveryResult {
        self.courier.deliver(&mut self.memory, &mut self.channel, &mut self.notes).unwrap()
    }

    pub(crate) fn hear(&mut self) -> PollResult {
        hear(&self.dirs, &mut self.memory, &mut self.channel, Duration::ZERO).unwrap()
    }

    /// Sends all that there is.
    pub(crate) fn deliver_all(&mut self) {
        assert_eq!(self.deliver(), DeliveryResult::All);
    }
}
