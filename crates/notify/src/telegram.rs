//! Telegram: a bot that the person has made, and the chats that they have named.
//!
//! `words` says what things look like there and what comes back means; `api` speaks HTTP. The token comes from a file of
//! the person's or from the environment, never from a file of a project, and is in no message, error or journal.

mod api;
mod types;
mod words;

use std::{env, fmt, fs, io, os::unix::fs::PermissionsExt as _, path::PathBuf, time::Duration};

use adapters::http::ClientError;
use engine::{Settings, keys};
use project::Dirs;

use self::{
    api::{Api, CallError},
    types::{
        AnswerCallbackQuery, Button, EditMessageText, GetMe, GetUpdates, Keyboard, LinkPreview, ReplyTo,
        SendMessage,
    },
};
use crate::{
    Wake,
    port::{Channel, Message, PostContent, Trouble},
};

/// The variable that holds the token.
pub const TOKEN: &str = "WARP_TELEGRAM_TOKEN";
/// The file that holds the token, in the directory of the person's configuration.
const TOKEN_FILE: &str = "telegram-token";
/// The largest file that is read for it, in bytes.
const LARGEST: u64 = 1024;
/// What stands for no chat.
const NONE: &str = "none";
/// What a click's ticket begins with; a written message's is its chat and number.
const CLICK: &str = "click:";

/// A bot and its chats.
#[derive(Clone)]
pub struct Bot {
    token: String,
    /// The ids of chats, as texts.
    pub chats: Vec<String>,
    /// Where the API is.
    pub api: String,
}

impl fmt::Debug for Bot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bot").field("number", &self.number()).field("chats", &self.chats).finish()
    }
}

/// Why no bot is available.
#[derive(Debug, thiserror::Error)]
pub enum NoBot {
    #[error("there is no bot token; put it into `{}`, or into {TOKEN}", path.display())]
    NoToken { path: PathBuf },
    #[error("`{}` cannot be read", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}` can be read by others: `chmod 600` it", path.display())]
    Open { path: PathBuf },
    #[error("what is in {place} is no bot token; BotFather gives one as 123456:ABC-def")]
    BadToken { place: String },
    #[error("no chat may decide; write to the bot, then `warp rdb test` shows what to put where")]
    NoChats,
    #[error("`{0}` is no chat id; an id is a number, and a group's has a minus before it")]
    BadChat(String),
    #[error("`{0}` is no address; `rdb.api` is like https://api.telegram.org")]
    BadApi(String),
}

impl Bot {
    /// Finds the configured bot and its chats.
    pub fn find(dirs: &Dirs, settings: &Settings) -> Result<Self, NoBot> {
        let bot = Self::alone(dirs, settings)?;
        if bot.chats.is_empty() { Err(NoBot::NoChats) } else { Ok(bot) }
    }

    /// Finds the configured bot, even without chats.
    pub fn alone(dirs: &Dirs, settings: &Settings) -> Result<Self, NoBot> {
        let token = token(dirs)?;
        let api = settings.get(keys::RDB_API).trim_end_matches('/').to_owned();
        let is_encrypted = api.starts_with("https://");
        // Without encryption the token would be everybody's, but on this machine.
        let is_local = ["http://127.0.0.1:", "http://localhost:", "http://[::1]:"]
            .iter()
            .any(|start| api.starts_with(start));
        if !is_encrypted && !is_local {
            return Err(NoBot::BadApi(api));
        }
        let chats = settings.get(keys::RDB_CHATS);
        let chats: Vec<&str> =
            chats.split(',').map(str::trim).filter(|id| !id.is_empty() && *id != NONE).collect();
        if let Some(bad) = chats.iter().find(|id| id.parse::<i64>().is_err()) {
            return Err(NoBot::BadChat((*bad).to_owned()));
        }
        Ok(Self { token, chats: chats.into_iter().map(str::to_owned).collect(), api })
    }

    /// Returns the key of the bot's stored state.
    pub fn key(&self) -> String {
        format!("telegram:{}", self.number())
    }

    /// Returns the bot's number, which is no secret.
    pub fn number(&self) -> &str {
        self.token.split(':').next().unwrap_or_default()
    }
}

/// Returns whether a bot may be configured; cheap.
pub fn is_set_up(dirs: &Dirs) -> bool {
    env::var_os(TOKEN).is_some() || dirs.config.join(TOKEN_FILE).exists()
}

/// Returns the token, from the environment or from the person's file.
fn token(dirs: &Dirs) -> Result<String, NoBot> {
    if let Some(token) = env::var(TOKEN).ok().filter(|token| !token.trim().is_empty()) {
        return checked(&token, TOKEN);
    }
    let path = dirs.config.join(TOKEN_FILE);
    let data = match fs::metadata(&path) {
        Ok(data) => data,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(NoBot::NoToken { path }),
        Err(source) => return Err(NoBot::Read { path, source }),
    };
    if data.permissions().mode() & 0o077 != 0 {
        return Err(NoBot::Open { path });
    }
    if !data.is_file() || data.len() > LARGEST {
        return Err(NoBot::BadToken { place: format!("`{}`", path.display()) });
    }
    match fs::read_to_string(&path) {
        Ok(text) => checked(&text, &format!("`{}`", path.display())),
        Err(source) => Err(NoBot::Read { path, source }),
    }
}

fn checked(token: &str, place: &str) -> Result<String, NoBot> {
    let token = token.trim();
    let is_one = token.split_once(':').is_some_and(|(number, rest)| {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
        (1..=20).contains(&number.len())
            && number.chars().all(|digit| digit.is_ascii_digit())
            && (8..=200).contains(&rest.len())
            && rest.chars().all(is_plain)
    });
    if is_one { Ok(token.to_owned()) } else { Err(NoBot::BadToken { place: place.to_owned() }) }
}

/// The channel.
pub struct Telegram {
    bot: Bot,
    api: Api,
}

impl Telegram {
    /// Creates the channel; `wake` interrupts a poll.
    pub fn new(bot: Bot, wake: Wake) -> Result<Self, ClientError> {
        let api = Api::new(&bot.api, &bot.token, wake)?;
        Ok(Self { bot, api })
    }

    /// Returns the bot's name, as people find it.
    pub fn name(&self) -> Result<String, Trouble> {
        let me = self.api.ask(&GetMe {}).map_err(trouble)?;
        Ok(me.username.unwrap_or(me.first_name))
    }

    fn send(&self, place: &str, text: &str, is_quiet: bool, more: MessageExtras) -> Result<String, Trouble> {
        let sent = self.api.ask(&SendMessage {
            chat_id: chat(place)?,
            text,
            disable_notification: is_quiet,
            link_preview_options: LinkPreview { is_disabled: true },
            reply_markup: more.buttons,
            reply_parameters: more.to.map(|to| ReplyTo { message_id: to, allow_sending_without_reply: true }),
        });
        Ok(sent.map_err(trouble)?.message_id.to_string())
    }
}

/// Optional parts of a message.
#[derive(Default)]
struct MessageExtras {
    buttons: Option<Keyboard>,
    to: Option<i64>,
}

impl Channel for Telegram {
    fn key(&self) -> String {
        self.bot.key()
    }

    fn places(&self) -> Vec<String> {
        self.bot.chats.clone()
    }

    fn post(&mut self, place: &str, post: &PostContent<'_>) -> Result<Option<String>, Trouble> {
        match post {
            PostContent::Notice { text, is_quiet } => {
                self.send(place, text, *is_quiet, MessageExtras::default()).map(|_| None)
            }
            PostContent::Question(question) => {
                let more = MessageExtras { buttons: keyboard(words::buttons(question)), to: None };
                self.send(place, &words::question(question), false, more).map(Some)
            }
            PostContent::Closing { message, question, words } => {
                let text = words::closed(question, words);
                let edit = EditMessageText { chat_id: chat(place)?, message_id: number(message)?, text };
                match self.api.ask(&edit) {
                    Ok(_) => Ok(None),
                    // It says that already, or the person has taken the message away.
                    Err(CallError::Refused { code: 400, .. }) => Ok(None),
                    Err(error) => Err(trouble(error)),
                }
            }
        }
    }

    fn listen(&mut self, from: Option<i64>, patience: Duration) -> Result<Vec<Message>, Trouble> {
        let wanted = GetUpdates {
            offset: from,
            timeout: patience.as_secs(),
            allowed_updates: ["message", "callback_query"],
        };
        let updates = self.api.updates(&wanted, patience).map_err(trouble)?;
        Ok(updates.iter().filter_map(words::message).collect())
    }

    fn respond(&mut self, message: &Message, words: &str) -> Result<(), Trouble> {
        if let Some(click) = message.ticket.strip_prefix(CLICK) {
            let answer = AnswerCallbackQuery { callback_query_id: click, text: words::toast(words) };
            return self.api.ask(&answer).map(|_| ()).map_err(trouble);
        }
        let to = message.ticket.parse().ok();
        self.send(&message.place, words, false, MessageExtras { buttons: None, to }).map(|_| ())
    }
}

fn keyboard(rows: Vec<Vec<(String, String)>>) -> Option<Keyboard> {
    let button = |(text, callback_data)| Button { text, callback_data };
    let inline_keyboard: Vec<Vec<_>> =
        rows.into_iter().map(|row| row.into_iter().map(button).collect()).collect();
    (!inline_keyboard.is_empty()).then_some(Keyboard { inline_keyboard })
}

fn chat(place: &str) -> Result<i64, Trouble> {
    place.parse().map_err(|_| Trouble::Never(format!("`{place}` is no chat id")))
}

fn number(message: &str) -> Result<i64, Trouble> {
    message.parse().map_err(|_| Trouble::Never(format!("`{message}` is no message")))
}

/// Says what a failure means for what comes next.
fn trouble(error: CallError) -> Trouble {
    let why = error.to_string();
    match error {
        CallError::Refused { code: 401 | 404, .. } => Trouble::NoEntry(
            "Telegram does not accept the bot's token; look at it, then `warp rdb test`".to_owned(),
        ),
        CallError::Refused { code: 409, .. } => Trouble::Rival(
            "another program polls this bot, so answers may not come here; end it, or use another bot"
                .to_owned(),
        ),
        CallError::Refused { code: 429, wait, .. } => Trouble::Later { wait, why },
        CallError::Refused { code: 400..=499, .. } => Trouble::Never(why),
        CallError::Refused { wait, .. } => Trouble::Later { wait, why },
        CallError::Network(_) | CallError::Answer(_) => Trouble::Later { wait: None, why },
        CallError::Request(_) => Trouble::Never(why),
        CallError::Woken => Trouble::Woken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_looks_like_a_token_is_one() {
        assert!(checked(" 123456:ABC-def_1234 \n", "x").is_ok());
        for bad in ["", "123456", "abc:ABCDEFGHIJ", "123:short", "123:ABCDEFGH IJK", "12/3:ABCDEFGHIJ"] {
            assert!(checked(bad, "x").is_err(), "{bad}");
        }
    }

    #[test]
    fn a_bot_shows_no_token() {
        let bot = Bot { token: "77:secret-part".to_owned(), chats: vec!["1".to_owned()], api: String::new() };
        assert_eq!(bot.number(), "77");
        assert!(!format!("{bot:?}").contains("secret-part"));
    }
}
