//! What went wrong, with an exit code and what to do next.

use dev::DevError;
use drift::DocsError;
use std::{error::Error as StdError, fmt};

use adapters::refs::GitError;
use engine::{EventName, Refused, view::Asked};
use forge::{ForgeError, Refusal};
use journal::{OpenError, StoreError};
use project::{
    AskError, BeginError, DecideError, Error, PlaceError,
    config::ConfigError,
    rails::VaultError,
    setup::SetupError,
    slots::SlotError,
    spend::{LedgerError, MoreError},
};

use crate::exit::Exit;

/// An error as a person sees it.
#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) exit: Exit,
    message: String,
    pub(crate) hints: Vec<String>,
}

impl CommandError {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), hints: Vec::new() }
    }

    /// Says the error and all that caused it in one line.
    pub(crate) fn of(exit: Exit, error: &dyn StdError) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            message.push_str(&format!(": {cause}"));
            source = cause.source();
        }
        Self::new(exit, message)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The error of every command that needs a run and finds none.
    pub(crate) fn no_session() -> Self {
        Self::new(Exit::NoSessionOrDenied, "no open run")
            .hint("`warp run N` starts one; `warp issue list` shows the issues, `warp log` the last run")
    }

    /// The error of a command that looks at a run or an issue, where nothing has that name in the project.
    pub(crate) fn unknown(selector: &str, project: &str) -> Self {
        Self::new(Exit::NoSessionOrDenied, format!("no run or issue `{selector}` in {project}"))
            .hint("`warp issue list` shows the issues that there are")
    }

    /// The error of a command that is about a run, where the one that was named is not there; `what` it had to be.
    pub(crate) fn no_run(selector: Option<&str>, what: &str) -> Self {
        match selector {
            Some(selector) => Self::new(Exit::NoSessionOrDenied, format!("`{selector}` has no {what}"))
                .hint(format!("`warp status` shows open runs; `warp explain {selector}` says more")),
            None => Self::no_session(),
        }
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<Error> for CommandError {
    fn from(error: Error) -> Self {
        failure(&error)
    }
}

fn failure(error: &Error) -> CommandError {
    match error {
        Error::Place(place) => place_error(place),
        Error::Open(OpenError::Store(store)) | Error::Runs(runs::Error::Store(store)) => store_error(store),
        Error::Open(OpenError::Directory { .. }) => CommandError::of(Exit::Failed, error),
        Error::Open(OpenError::Foreign { .. } | OpenError::Newer { .. }) => {
            CommandError::of(Exit::BadData, error)
        }
        Error::JournalGone { path } => {
            let directory = path.parent().unwrap_or(path).display().to_string();
            CommandError::of(Exit::BadData, error).hint(format!(
                "put `{directory}` back from a backup; `warp doctor --repair` begins an empty journal instead"
            ))
        }
        Error::Runs(runs::Error::Event { .. } | runs::Error::Fold { .. } | runs::Error::Pinned { .. }) => {
            CommandError::of(Exit::BadData, error).hint("`warp doctor` checks the whole journal")
        }
        Error::Locked { .. } => {
            CommandError::of(Exit::Failed, error).hint("`warp status` shows the run; try again")
        }
        Error::Write { .. }
        | Error::Git(_)
        | Error::Runs(runs::Error::Contended | runs::Error::NoStore | runs::Error::Random(_)) => {
            CommandError::of(Exit::Failed, error)
        }
        Error::Forge(error) => forge_error(error),
    }
}

fn place_error(error: &PlaceError) -> CommandError {
    let exit = match error {
        PlaceError::NotThere { .. } | PlaceError::NotADirectory { .. } | PlaceError::NotText { .. } => {
            Exit::Usage
        }
        PlaceError::NoHome => Exit::Configuration,
        PlaceError::BadId { .. } => Exit::BadData,
        PlaceError::Write { .. } | PlaceError::Read { .. } => Exit::Failed,
    };
    let shown = CommandError::of(exit, error);
    match error {
        PlaceError::BadId { path } => {
            shown.hint(format!("`ls` the directory `projects` in warp's state directory and write the id into {}, or remove that file to begin afresh", path.display()))
        }
        PlaceError::NotThere { .. }
        | PlaceError::NotADirectory { .. }
        | PlaceError::NotText { .. }
        | PlaceError::NoHome
        | PlaceError::Write { .. }
        | PlaceError::Read { .. } => shown,
    }
}

fn store_error(error: &StoreError) -> CommandError {
    match error {
        StoreError::Corrupt { .. } => CommandError::of(Exit::BadData, error)
            .hint("`warp doctor` names every fault")
            .hint("`warp doctor --repair` sets the file aside and keeps all that can be verified"),
        StoreError::Full { .. } | StoreError::ReadOnly { .. } | StoreError::Busy { .. } => {
            let shown = CommandError::of(Exit::Failed, error);
            outside(error).into_iter().fold(shown, CommandError::hint)
        }
        StoreError::Stale { .. } => CommandError::of(Exit::Claimed, error),
        StoreError::Failed { .. } => CommandError::of(Exit::Internal, error),
    }
}

/// Says what mends a store that nothing is wrong with, but for the place where it is.
pub(crate) fn outside(error: &StoreError) -> Option<String> {
    match error {
        StoreError::Full { .. } => {
            Some("make room on that disk and try again; all that was recorded is there".to_owned())
        }
        StoreError::ReadOnly { path } => {
            let directory = path.parent().unwrap_or(path).display();
            Some(format!(
                "let yourself write there, e.g. `chmod -R u+rwX {directory}`; on a disk that is read-only, `XDG_STATE_HOME` names another place"
            ))
        }
        StoreError::Busy { .. } => Some("try again when the other one is done".to_owned()),
        StoreError::Corrupt { .. } | StoreError::Stale { .. } | StoreError::Failed { .. } => None,
    }
}

impl From<PlaceError> for CommandError {
    fn from(error: PlaceError) -> Self {
        place_error(&error)
    }
}

impl From<SlotError> for CommandError {
    fn from(error: SlotError) -> Self {
        match &error {
            SlotError::Place(error) => place_error(error),
            SlotError::Store(error) => store_error(error),
            SlotError::NoRepository { .. } | SlotError::InSlot { .. } => Self::of(Exit::Usage, &error),
            SlotError::NotContained { .. } => Self::of(Exit::BadData, &error)
                .hint("nothing was touched; remove the link, or move what is there away"),
            SlotError::NotOurs { .. } => Self::of(Exit::BadData, &error),
            SlotError::InUse { .. } => {
                Self::of(Exit::Failed, &error).hint("`warp status` shows the run; try again")
            }
            SlotError::Lost { .. } => Self::of(Exit::Failed, &error)
                .hint("`warp recover` makes it again, with all commits that can be found"),
            SlotError::Unreadable { .. }
            | SlotError::TooMany
            | SlotError::File { .. }
            | SlotError::Git(_)
            | SlotError::Target(_)
            | SlotError::Branch(_)
            | SlotError::Refs(_)
            | SlotError::Known(_)
            | SlotError::Open(_) => Self::of(Exit::Failed, &error),
        }
    }
}

impl From<LedgerError> for CommandError {
    fn from(error: LedgerError) -> Self {
        match &error {
            LedgerError::Open(OpenError::Store(store)) | LedgerError::Store(store) => store_error(store),
            LedgerError::Open(OpenError::Directory { .. })
            | LedgerError::Contended
            | LedgerError::Random(_) => Self::of(Exit::Failed, &error),
            LedgerError::Open(OpenError::Foreign { .. } | OpenError::Newer { .. })
            | LedgerError::Entry { .. }
            | LedgerError::Newer { .. }
            | LedgerError::NoRequest { .. } => Self::of(Exit::BadData, &error),
            LedgerError::Prices { .. } | LedgerError::ReadPrices { .. } => {
                Self::of(Exit::Configuration, &error)
            }
        }
    }
}

impl From<GitError> for CommandError {
    fn from(error: GitError) -> Self {
        Self::of(Exit::Failed, &error)
    }
}

impl From<VaultError> for CommandError {
    fn from(error: VaultError) -> Self {
        match &error {
            VaultError::Place(error) => place_error(error),
            VaultError::InTheWay { .. } => Self::of(Exit::Usage, &error),
            VaultError::Git(_) | VaultError::Write { .. } | VaultError::Locked { .. } => {
                Self::of(Exit::Failed, &error)
            }
        }
    }
}

impl From<AskError> for CommandError {
    fn from(error: AskError) -> Self {
        match error {
            AskError::NoRun => Self::no_session(),
            AskError::Refused(refused) => refused.into(),
            AskError::Failed(error) => error.into(),
        }
    }
}

impl From<DecideError> for CommandError {
    fn from(error: DecideError) -> Self {
        match error {
            DecideError::Ask(error) => error.into(),
            DecideError::More(error) => error.into(),
        }
    }
}

impl From<MoreError> for CommandError {
    fn from(error: MoreError) -> Self {
        match &error {
            MoreError::NoCap | MoreError::Unit { .. } | MoreError::TooLittle { .. } => {
                Self::of(Exit::Usage, &error)
            }
            MoreError::Ledger(_) => Self::of(Exit::Failed, &error),
        }
    }
}

impl From<Refused> for CommandError {
    fn from(refused: Refused) -> Self {
        match &refused {
            Refused::NotPossible { possible, .. } => {
                let shown = Self::of(Exit::Refused, &refused);
                match possible.iter().map(EventName::as_str).next() {
                    Some(_) => shown.hint("`warp explain` says what each of them needs"),
                    None => shown,
                }
            }
            Refused::Gate { .. }
            | Refused::Advisory { .. }
            | Refused::Once { .. }
            | Refused::StaleAttempt { .. }
            | Refused::NeedsPerson { .. }
            | Refused::OwnWork { .. }
            | Refused::NotNow { .. } => Self::of(Exit::Refused, &refused),
            Refused::Ended { .. } => Self::of(Exit::Refused, &refused),
            Refused::Suspended { .. } => {
                Self::of(Exit::Refused, &refused).hint("`warp state resume .` resumes it at once")
            }
            Refused::Stopped { .. } => Self::of(Exit::Refused, &refused)
                .hint("`warp state resume .` resumes it; `warp state reset .` archives it"),
            Refused::Parked { decision, .. } => {
                let answer = Asked::from(&**decision).inline_commands();
                Self::of(Exit::Parked, &refused).hint(format!("{answer} answers it"))
            }
            Refused::Data { .. } => Self::of(Exit::BadData, &refused),
        }
    }
}

impl From<ForgeError> for CommandError {
    fn from(error: ForgeError) -> Self {
        failure(&error.into())
    }
}

fn forge_error(error: &ForgeError) -> CommandError {
    match error {
        ForgeError::NotThere { .. } => CommandError::of(Exit::Refused, error).hint(WHAT_THERE_IS),
        ForgeError::Refused(refusal) => refused(refusal),
        ForgeError::Conflict { .. } => {
            CommandError::of(Exit::Refused, error).hint("look at it and try again")
        }
        ForgeError::Later { .. } | ForgeError::Unreachable(_) => CommandError::of(Exit::Failed, error),
        ForgeError::BadAnswer { .. } => {
            CommandError::of(Exit::BadData, error).hint("`warp doctor` checks the whole journal")
        }
    }
}

const WHAT_THERE_IS: &str = "`warp issue list` and `warp pr list` show what there is";

fn refused(refusal: &Refusal) -> CommandError {
    let shown = CommandError::of(Exit::Refused, refusal);
    match refusal {
        Refusal::NotAPull { .. } => shown.hint(WHAT_THERE_IS),
        Refusal::NotAnIssue { id } => {
            shown.hint(format!("`warp pr show {id}` shows it; `warp pr approve {id}` approves it"))
        }
        Refusal::Taken { id } => {
            shown.hint(format!("`warp issue show {id}` shows it; without `--number` the next one is given"))
        }
        Refusal::ImportedAs { id, .. } => {
            shown.hint(format!("without `--number` #{id} is brought up to date"))
        }
        Refusal::Text { .. } | Refusal::Number { .. } => CommandError::of(Exit::Usage, refusal),
        Refusal::Full { id, .. } => {
            shown.hint(format!("`warp issue new` files another that refers to #{id}"))
        }
        Refusal::Merged { .. } => shown.hint("`warp issue new` files an issue about what is left"),
        Refusal::NotAPerson { .. } | Refusal::OwnPull { .. } => shown,
        Refusal::Credentials { .. } | Refusal::Forbidden { .. } => {
            CommandError::of(Exit::Configuration, refusal)
                .hint("`warp forge check` says which account and token are in use")
        }
        Refusal::Unsupported { .. } | Refusal::Said { .. } => CommandError::of(Exit::Failed, refusal),
    }
}

impl From<BeginError> for CommandError {
    fn from(error: BeginError) -> Self {
        match &error {
            BeginError::Active { .. } => Self::of(Exit::Refused, &error)
                .hint("`warp status` shows whether its process still runs")
                .hint("`warp stop --hard` resets it; the journal keeps everything"),
            BeginError::ForeignStateFile { file } => Self::of(Exit::Refused, &error)
                .hint(format!("`warp adopt {}` takes it over", file.display()))
                .hint("`warp stop --hard` archives it"),
            BeginError::Level { configured, .. } => {
                let exit = if *configured { Exit::Configuration } else { Exit::Usage };
                Self::of(exit, &error)
                    .hint("run `/automation level 2` inside Claude Code first, or give `--level 2`")
            }
            BeginError::NoWorkflow { .. } | BeginError::NoFeature { .. } => Self::of(Exit::Usage, &error),
            // The source is part of the message, on lines of its own.
            BeginError::Workflow { .. } | BeginError::Adopt { .. } => {
                Self::new(Exit::BadData, error.to_string())
            }
            BeginError::ReadState { .. } => Self::of(Exit::BadData, &error),
            BeginError::Config(error) => config_error(error),
            BeginError::Failed(error) => failure(error),
        }
    }
}

impl From<ConfigError> for CommandError {
    fn from(error: ConfigError) -> Self {
        config_error(&error)
    }
}

impl From<DocsError> for CommandError {
    fn from(error: DocsError) -> Self {
        match &error {
            DocsError::NoRepository => Self::of(Exit::Usage, &error).hint("`git init` makes one"),
            DocsError::Program(_) => {
                Self::of(Exit::Configuration, &error).hint("it is set under [workflow] in warp.toml")
            }
            DocsError::Git(_) | DocsError::Stopped(_) | DocsError::Read { .. } | DocsError::Write { .. } => {
                Self::of(Exit::Failed, &error)
            }
        }
    }
}

impl From<DevError> for CommandError {
    fn from(error: DevError) -> Self {
        match &error {
            DevError::None { .. } => Self::of(Exit::Configuration, &error)
                .hint("`warp dev init` writes one for what it finds in the project"),
            DevError::Syntax { .. } | DevError::Key { .. } => {
                Self::of(Exit::Configuration, &error).hint("docs/dev.md has a whole one")
            }
            DevError::Exists => Self::of(Exit::Refused, &error)
                .hint("move it away to have another written, or change it by hand"),
            DevError::InSlot { .. } => Self::of(Exit::Refused, &error),
            DevError::Busy => Self::of(Exit::Claimed, &error).hint("try again when it is done"),
            DevError::PortTaken { .. } => Self::of(Exit::Failed, &error).hint(
                "end that, or set another `server.port`; a run whose `server.command` says `$PORT` gets a port of its own",
            ),
            DevError::NotUp { .. } => {
                Self::of(Exit::Failed, &error).hint("fix `server` in dev.json, or what it starts")
            }
            DevError::Failed { .. } | DevError::File { .. } => Self::of(Exit::Failed, &error),
            DevError::Interrupted => Self::of(Exit::Interrupted, &error),
        }
    }
}

impl From<SetupError> for CommandError {
    fn from(error: SetupError) -> Self {
        match &error {
            SetupError::Json { file, .. } => Self::new(Exit::BadData, error.to_string())
                .hint(format!("nothing was changed; fix `{file}` there, then run the same again")),
            SetupError::Memory { path, .. } => Self::of(Exit::BadData, &error)
                .hint(format!("nothing was changed; move {} away to begin afresh", path.display())),
            SetupError::Read { .. } | SetupError::Write { .. } => Self::of(Exit::Failed, &error)
                .hint("fix that and run the same command again: it completes what was started"),
            SetupError::Moved { .. } | SetupError::Busy => {
                Self::of(Exit::Failed, &error).hint("run the same again")
            }
            SetupError::Program { .. } => Self::of(Exit::Configuration, &error)
                .hint("install warp in a directory whose path is plain text"),
            SetupError::Config(error) => config_error(error),
            SetupError::Backstop(error) => Self::of(Exit::Failed, error),
        }
    }
}

fn config_error(error: &ConfigError) -> CommandError {
    let shown = CommandError::of(Exit::Configuration, error);
    if let ConfigError::Base(_) = error {
        return shown.hint(
            "`git branch --all` and `git tag` list what there is; `base = \"auto\"` is the merge target",
        );
    }
    shown.hint("docs/reference/settings.md lists every setting with its default")
}
