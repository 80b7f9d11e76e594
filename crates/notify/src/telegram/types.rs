//! The part of Telegram's bot API that is spoken here. What else an answer holds is passed over, so a kind of message that
//! is newer than this program is read as far as it is known.

use serde::{Deserialize, Serialize};

/// What a bot is asked to do, and what it returns.
pub(super) trait Method: Serialize {
    const NAME: &'static str;
    type Result: for<'a> Deserialize<'a>;
}

#[derive(Serialize)]
pub(super) struct GetMe {}

impl Method for GetMe {
    const NAME: &'static str = "getMe";
    type Result = User;
}

#[derive(Serialize)]
pub(super) struct SendMessage<'a> {
    pub(super) chat_id: i64,
    pub(super) text: &'a str,
    pub(super) disable_notification: bool,
    pub(super) link_preview_options: LinkPreview,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reply_markup: Option<Keyboard>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reply_parameters: Option<ReplyTo>,
}

impl Method for SendMessage<'_> {
    const NAME: &'static str = "sendMessage";
    type Result = MessageRef;
}

#[derive(Serialize)]
pub(super) struct LinkPreview {
    pub(super) is_disabled: bool,
}

#[derive(Serialize)]
pub(super) struct Keyboard {
    pub(super) inline_keyboard: Vec<Vec<Button>>,
}

#[derive(Serialize)]
pub(super) struct Button {
    pub(super) text: String,
    pub(super) callback_data: String,
}

#[derive(Serialize)]
pub(super) struct ReplyTo {
    pub(super) message_id: i64,
    pub(super) allow_sending_without_reply: bool,
}

#[derive(Serialize)]
pub(super) struct EditMessageText {
    pub(super) chat_id: i64,
    pub(super) message_id: i64,
    pub(super) text: String,
}

impl Method for EditMessageText {
    const NAME: &'static str = "editMessageText";
    type Result = serde::de::IgnoredAny;
}

#[derive(Serialize)]
pub(super) struct AnswerCallbackQuery<'a> {
    pub(super) callback_query_id: &'a str,
    pub(super) text: String,
}

impl Method for AnswerCallbackQuery<'_> {
    const NAME: &'static str = "answerCallbackQuery";
    type Result = serde::de::IgnoredAny;
}

#[derive(Serialize)]
pub(super) struct GetUpdates {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) offset: Option<i64>,
    /// In seconds.
    pub(super) timeout: u64,
    pub(super) allowed_updates: [&'static str; 2],
}

impl Method for GetUpdates {
    const NAME: &'static str = "getUpdates";
    /// As they came, because one that nobody knows must not spoil the others.
    type Result = Vec<serde_json::Value>;
}

/// Why there is no result.
#[derive(Deserialize)]
pub(super) struct Refusal {
    pub(super) error_code: u64,
    pub(super) description: String,
    pub(super) parameters: Option<Parameters>,
}

#[derive(Deserialize)]
pub(super) struct Parameters {
    /// In seconds.
    pub(super) retry_after: Option<u64>,
}

/// Something that somebody did.
#[derive(Deserialize)]
pub(super) struct Update {
    pub(super) message: Option<TextMessage>,
    pub(super) callback_query: Option<ButtonPress>,
}

#[derive(Deserialize)]
pub(super) struct TextMessage {
    pub(super) message_id: i64,
    pub(super) chat: Chat,
    pub(super) from: Option<User>,
    pub(super) text: Option<String>,
    pub(super) reply_to_message: Option<MessageRef>,
}

/// A button that was pressed.
#[derive(Deserialize)]
pub(super) struct ButtonPress {
    pub(super) id: String,
    pub(super) from: User,
    pub(super) data: Option<String>,
    pub(super) message: Option<ButtonMessage>,
}

/// The message of a button.
#[derive(Deserialize)]
pub(super) struct ButtonMessage {
    pub(super) chat: Chat,
}

/// Reference to a message of a chat.
#[derive(Deserialize)]
pub(super) struct MessageRef {
    pub(super) message_id: i64,
}

#[derive(Deserialize)]
pub(super) struct Chat {
    pub(super) id: i64,
}

#[derive(Deserialize)]
pub(super) struct User {
    pub(super) first_name: String,
    pub(super) last_name: Option<String>,
    pub(super) username: Option<String>,
}
