use std::{path::PathBuf, time::Duration};

use clap::Subcommand;
use engine::keys;
use notify::{
    AwayMode, Channel as _, Listening, Memory, PollResult, PostContent, Trouble, Wake,
    telegram::{Bot, NoBot, Telegram},
};
use project::{
    Dirs, Place,
    config::{self, Config},
    counted,
    setup::{self, Choice},
    spelled,
};
use serde_json::json;

use super::{person_place, place};
use crate::{error::CommandError, exit::Exit, local_time, output};

/// Say whether you are away: notices and decisions then go to Telegram
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Be told and asked in Telegram from now on, in this checkout
    On,
    /// Be asked at the terminal again
    Off,
    /// Show whether you can be reached, and how (the default)
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Send a message to every chat; without any, show who has written to the bot
    Test,
}

impl Arguments {
    /// Tells whether nothing is changed or sent.
    pub(crate) fn only_looks(&self) -> bool {
        matches!(self.action, None | Some(Action::Status { .. }))
    }
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let dirs = Dirs::from_environment()?;
    let place = person_place(&project::Workspace::open(place(project)?, dirs.clone())?)?;
    match &arguments.action {
        Some(Action::On) => {
            // Whoever cannot be reached stays where they are asked.
            Bot::find(&dirs, &config::load(&place, &dirs, None, &[])?.settings)?;
            notify::pass_over_all(&place, &dirs)?;
            switch(&place, &dirs, true)
        }
        Some(Action::Off) => switch(&place, &dirs, false),
        Some(Action::Test) => test(&place, &dirs),
        None => status(&place, &dirs, false),
        Some(Action::Status { json }) => status(&place, &dirs, *json),
    }
}

fn switch(place: &Place, dirs: &Dirs, on: bool) -> Result<Exit, CommandError> {
    let plan = setup::plan_choice(place, &setup::this_program()?, Choice::RemoteDecisions(on))?;
    setup::carry_out(place, &plan)?;
    match (AwayMode::of(place, dirs, &[]), on) {
        (AwayMode::Off(_), false) => output::print("you are back: decisions are asked at the terminal")?,
        (AwayMode::Off(_), true) | (AwayMode::Telegram(_) | AwayMode::Unreachable(_), false) => {
            output::print("saved, but another setting overrides it: `warp config` shows which")?;
        }
        (AwayMode::Telegram(bot), true) => {
            output::print(&format!(
                "you are away: every phase is told and every decision asked in Telegram (chats {})",
                bot.chats.join(", ")
            ))?;
        }
        (AwayMode::Unreachable(why), true) => {
            return Err(CommandError::new(
                Exit::Configuration,
                format!("you are away, but cannot be reached: {why}"),
            )
            .hint("`warp rdb off` lets you be asked at the terminal"));
        }
    }
    Ok(Exit::Done)
}

fn status(place: &Place, dirs: &Dirs, json: bool) -> Result<Exit, CommandError> {
    let config = config::load(place, dirs, None, &[])?;
    let is_on = config.settings.get(keys::RDB_ENABLED);
    let bot = Bot::find(dirs, &config.settings);
    let known = match &bot {
        Ok(bot) => Some(known(dirs, bot)?),
        Err(_) => None,
    };
    let (listening, listener) = known.unwrap_or_default();
    let problem = bot.as_ref().err().map(|error| spelled(error));
    if json {
        output::print_json(&json!({
            "enabled": is_on,
            "bot": bot.as_ref().ok().map(Bot::number),
            "chats": bot.as_ref().map(|bot| bot.chats.clone()).unwrap_or_default(),
            "problem": problem,
            "last_contact": listening.contact,
            "trouble": listening.trouble.as_ref().map(|(why, at)| json!({ "why": why, "at": at })),
            "listener": listener,
            "strangers": listening.strangers,
            "stranger": listening.stranger,
        }))?;
        return Ok(Exit::Done);
    }
    let from = config.origins.get("rdb.enabled").map(ToString::to_string).unwrap_or_default();
    let mut lines = vec![row("away mode", &format!("{} ({from})", if is_on { "on" } else { "off" }))];
    match &bot {
        Ok(bot) => {
            lines.push(row("bot", &format!("{}, its token is found", bot.number())));
            lines.push(row("chats", &bot.chats.join(", ")));
            lines.extend(rows(&listening, listener, &bot.chats));
        }
        Err(error) => lines.push(row("bot", &format!("cannot be used: {}", spelled(error)))),
    }
    output::print(&lines.join("\n"))?;
    Ok(Exit::Done)
}

/// Returns what is known of a bot, and the process that listens.
fn known(dirs: &Dirs, bot: &Bot) -> Result<(Listening, Option<u32>), CommandError> {
    let mut memory = Memory::open(dirs, bot.key())?;
    Ok((memory.listening()?, memory.listener()?))
}

fn rows(listening: &Listening, listener: Option<u32>, chats: &[String]) -> Vec<String> {
    let contact = listening.contact.map_or("never".to_owned(), local_time::minute);
    let mut lines = vec![row("last contact", &contact)];
    if let Some((why, at)) = &listening.trouble {
        lines.push(row("trouble", &format!("{why} ({})", local_time::minute(*at))));
    }
    lines.push(row(
        "listening",
        &listener.map_or("nobody; a run does while it asks".to_owned(), |pid| format!("process {pid}")),
    ));
    // Whoever was let in since is no stranger any more.
    if let Some(stranger) = listening.stranger.as_ref().filter(|stranger| !chats.contains(&stranger.place)) {
        let (name, place, at) = (&stranger.name, &stranger.place, local_time::minute(stranger.at));
        let count = counted(listening.strangers, "message", "messages");
        lines.push(row("turned away", &format!("{count}, the last from {name} in chat {place} ({at})")));
    }
    lines
}

fn row(name: &str, value: &str) -> String {
    format!("{name:<14}{value}")
}

fn test(place: &Place, dirs: &Dirs) -> Result<Exit, CommandError> {
    let Config { settings, .. } = config::load(place, dirs, None, &[])?;
    let bot = Bot::alone(dirs, &settings)?;
    let mut telegram = Telegram::new(bot.clone(), Wake::default())
        .map_err(|error| CommandError::of(Exit::Failed, &error))?;
    let name = telegram.name()?;
    output::print(&format!("the bot is @{name}"))?;
    if bot.chats.is_empty() {
        return introduce(dirs, &mut telegram);
    }
    let text = format!("[warp] test -- notices and decisions of {} come here", place.name());
    for chat in &bot.chats {
        telegram.post(chat, &PostContent::Notice { text: &text, is_quiet: false })?;
        output::print(&format!("chat {chat} has a message"))?;
    }
    if !settings.get(keys::RDB_ENABLED) {
        output::print("away mode is off: `warp rdb on` switches it on")?;
    }
    Ok(Exit::Done)
}

/// Shows who has written to a bot that may speak to nobody yet.
fn introduce(dirs: &Dirs, telegram: &mut Telegram) -> Result<Exit, CommandError> {
    let mut memory = Memory::open(dirs, telegram.key())?;
    if let PollResult::Trouble(trouble) = notify::hear(dirs, &mut memory, telegram, Duration::ZERO)? {
        return Err(trouble.into());
    }
    match memory.listening()?.stranger {
        Some(stranger) => output::print(&format!(
            "{} has written to it from chat {}\nif that is you: put `chats = \"{}\"` under `[rdb]` in `{}`",
            stranger.name,
            stranger.place,
            stranger.place,
            dirs.config.join("config.toml").display()
        ))?,
        None => output::print("nobody has written to it yet: send it a message, then `warp rdb test` again")?,
    }
    Ok(Exit::Done)
}

impl From<NoBot> for CommandError {
    fn from(error: NoBot) -> Self {
        Self::of(Exit::Configuration, &error).hint("docs/away.md says how a bot is made")
    }
}

impl From<Trouble> for CommandError {
    fn from(trouble: Trouble) -> Self {
        Self::of(Exit::Failed, &trouble)
    }
}

impl From<notify::AwayError> for CommandError {
    fn from(error: notify::AwayError) -> Self {
        match error {
            notify::AwayError::Project(error) => error.into(),
            notify::AwayError::Open(_)
            | notify::AwayError::Store(_)
            | notify::AwayError::Kept { .. }
            | notify::AwayError::Random(_)
            | notify::AwayError::Contended => Self::of(Exit::Failed, &error),
        }
    }
}
