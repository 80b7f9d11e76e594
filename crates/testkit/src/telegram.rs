//! A double of Telegram's bot API on loopback, with its rules and its faults.
//!
//! Updates wait until they are confirmed by an offset, and are given out again until then. Of two who poll, the earlier one
//! is sent away with 409. Texts, buttons and edits have the limits of the real thing. A test says what people do
//! ([`Telegram::press`], [`Telegram::write`]), what goes wrong ([`Telegram::fail`]), and waits for what it expects
//! ([`Telegram::until`]); nothing here takes time on purpose.

use std::{
    fs,
    io::{self, BufReader, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{Sandbox, model::http::Incoming};

/// How long anything may take that a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);
/// Limits of the real thing: of a text in characters, of what a button carries in bytes.
const LONGEST_TEXT: usize = 4096;
const MOST_DATA: usize = 64;

/// The double; its threads end with it.
pub struct Telegram {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// What the double has seen and has to give.
#[derive(Default)]
pub struct State {
    /// Messages of the bot, in order, as they are now.
    pub messages: Vec<Sent>,
    /// What clicks were answered with: the update's number and the words.
    pub toasts: Vec<(i64, String)>,
    /// The methods that were called, in order, with what came along.
    pub calls: Vec<(String, Value)>,
    /// How often somebody was sent away because another polls.
    pub conflicts: usize,
    /// The offset that was named last.
    pub offset: i64,
    /// How many polls are waiting now.
    pub polls: usize,
    updates: Vec<Value>,
    again: Vec<Value>,
    held: Vec<Value>,
    is_reversed: bool,
    faults: Vec<(String, Fault)>,
    blocked: Vec<i64>,
    last_update: i64,
    poll: u64,
    is_over: bool,
}

/// A message of the bot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    pub id: i64,
    pub chat: i64,
    pub text: String,
    /// Texts and what they carry.
    pub buttons: Vec<(String, String)>,
    pub is_quiet: bool,
    /// The message that it replies to.
    pub to: Option<i64>,
    pub edits: usize,
}

/// Something that goes wrong with one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is refused with 429, and may be tried again after so many seconds.
    TooMany(u64),
    /// It is refused with 409.
    Conflict,
    /// It is refused with 502, and the answer is no JSON.
    BadGateway,
    /// The connection breaks before anything is done.
    Lost,
    /// The connection breaks after it was done.
    Unanswered,
}

/// The token of the bot.
pub const TOKEN: &str = "7001:double-token-that-nobody-shows";

impl Telegram {
    /// Starts the double.
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let shared = Arc::new(Shared::default());
        shared.lock().last_update = 1000;
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if accepting.lock().is_over {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let shared = Arc::clone(&accepting);
                // A client that goes away gets no further answer.
                thread::spawn(move || {
                    let _ = shared.converse(&stream);
                    let _ = stream.shutdown(Shutdown::Both);
                });
            }
        });
        Self { address, shared }
    }

    /// Returns the address of the API.
    pub fn address(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the variables by which warp finds the double, for these chats.
    pub fn variables(&self, chats: &str) -> [(&'static str, String); 4] {
        [
            ("WARP_TELEGRAM_TOKEN", TOKEN.to_owned()),
            ("WARP_RDB_API", self.address()),
            ("WARP_RDB_CHATS", chats.to_owned()),
            ("WARP_RDB_ENABLED", "true".to_owned()),
        ]
    }

    /// Writes the token and the chats where a person of that home has them. Away mode is not switched on by that.
    pub fn set_up(&self, sandbox: &Sandbox, chats: &str) {
        let config = sandbox.home().join("config/warp");
        fs::create_dir_all(&config).expect("directories can be made");
        let text = format!("[rdb]\nchats = \"{chats}\"\napi = \"{}\"\n", self.address());
        fs::write(config.join("config.toml"), text).expect("the file can be written");
        let token = config.join("telegram-token");
        fs::write(&token, TOKEN).expect("the file can be written");
        fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).expect("the file is ours");
    }

    /// Somebody presses a button of a message; returns the update's number.
    pub fn press(&self, who: (i64, &str), message: i64, button: &str) -> i64 {
        let mut state = self.shared.lock();
        let sent =
            state.messages.iter().find(|sent| sent.id == message).expect("the message was sent").clone();
        let data = sent.buttons.iter().find(|(text, _)| text == button).map(|(_, data)| data.clone());
        let data = data.unwrap_or_else(|| panic!("`{button}` is no button of {sent:?}"));
        let number = state.press(who, &sent, &data);
        drop(state);
        self.shared.changed.notify_all();
        number
    }

    /// Somebody presses a button that a message had once, or never; returns the update's number.
    pub fn press_data(&self, who: (i64, &str), message: i64, data: &str) -> i64 {
        let mut state = self.shared.lock();
        let sent = Sent {
            id: message,
            chat: who.0,
            text: String::new(),
            buttons: Vec::new(),
            is_quiet: false,
            to: None,
            edits: 0,
        };
        let number = state.press(who, &sent, data);
        drop(state);
        self.shared.changed.notify_all();
        number
    }

    /// Somebody writes, in reply to a message perhaps; returns the update's number.
    pub fn write(&self, who: (i64, &str), to: Option<i64>, text: &str) -> i64 {
        let mut state = self.shared.lock();
        let mut message = message_of(who, state.last_update + 50_000, text);
        if let Some(to) = to {
            let sent = state.messages.iter().find(|sent| sent.id == to).map(|sent| sent.text.clone());
            message["reply_to_message"] = message_of(who, to, &sent.unwrap_or_default());
        }
        let number = state.update("message", message);
        drop(state);
        self.shared.changed.notify_all();
        number
    }

    /// Gives out an update of any kind; returns its number.
    pub fn update(&self, kind: &str, content: Value) -> i64 {
        let number = self.shared.lock().update(kind, content);
        self.shared.changed.notify_all();
        number
    }

    /// Gives an update out once more with the next answer, confirmed or not.
    pub fn repeat(&self, number: i64) {
        let mut state = self.shared.lock();
        let known = state.calls.iter().find_map(|(method, value)| {
            (method == "given" && value["update_id"] == number).then(|| value.clone())
        });
        let is_it = |update: &&Value| update["update_id"] == number;
        let update = known.or_else(|| state.held.iter().chain(&state.updates).find(is_it).cloned());
        state.again.push(update.expect("the update was given out"));
        drop(state);
        self.shared.changed.notify_all();
    }

    /// Keeps an update back until it is repeated.
    pub fn hold(&self, number: i64) {
        let mut state = self.shared.lock();
        let (held, updates) =
            std::mem::take(&mut state.updates).into_iter().partition(|update| update["update_id"] == number);
        state.updates = updates;
        state.held.extend::<Vec<Value>>(held);
    }

    /// Gives updates out with the newest first from now on.
    pub fn reverse(&self) {
        self.shared.lock().is_reversed = true;
    }

    /// Lets the next call of a method go wrong; after it the one that was named next.
    pub fn fail(&self, method: &str, fault: Fault) {
        self.shared.lock().faults.push((method.to_owned(), fault));
        self.shared.changed.notify_all();
    }

    /// Lets all calls of a method succeed from now on.
    pub fn forgive(&self, method: &str) {
        self.shared.lock().faults.retain(|(name, _)| name != method);
    }

    /// Lets a chat refuse whatever the bot sends.
    pub fn block(&self, chat: i64) {
        self.shared.lock().blocked.push(chat);
    }

    /// Waits until it is as it should be.
    pub fn until<T>(&self, what: &str, look: impl Fn(&State) -> Option<T>) -> T {
        let begun = Instant::now();
        let mut state = self.shared.lock();
        loop {
            if let Some(found) = look(&state) {
                return found;
            }
            let left = PATIENCE.saturating_sub(begun.elapsed());
            if left.is_zero() {
                let texts: Vec<&String> = state.messages.iter().map(|sent| &sent.text).collect();
                let calls: Vec<&String> = state.calls.iter().map(|(method, _)| method).collect();
                panic!("{what} did not come; sent: {texts:#?}, calls: {calls:?}, toasts: {:?}", state.toasts);
            }
            state = self.shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits for a message that contains a text, the newest of them.
    pub fn until_sent(&self, text: &str) -> Sent {
        self.until(text, |state| state.messages.iter().rev().find(|sent| sent.text.contains(text)).cloned())
    }

    /// Returns what the bot has sent so far, in order.
    pub fn sent(&self) -> Vec<Sent> {
        self.shared.lock().messages.clone()
    }

    /// Returns the texts that the bot has sent to a chat so far, in order.
    pub fn texts(&self, chat: i64) -> Vec<String> {
        self.sent().into_iter().filter(|sent| sent.chat == chat).map(|sent| sent.text).collect()
    }

    /// Returns something of what was seen.
    pub fn look<T>(&self, look: impl Fn(&State) -> T) -> T {
        look(&self.shared.lock())
    }
}

impl Drop for Telegram {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_all();
        // The thread that accepts connections waits for one.
        let _ = TcpStream::connect_timeout(&self.address, PATIENCE);
    }
}

fn message_of((chat, name): (i64, &str), id: i64, text: &str) -> Value {
    json!({
        "message_id": id, "date": 1, "text": text,
        "from": { "id": chat, "is_bot": false, "first_name": name },
        "chat": { "id": chat, "type": "private", "first_name": name },
    })
}

impl State {
    fn update(&mut self, kind: &str, content: Value) -> i64 {
        self.last_update += 1;
        let mut update = json!({ "update_id": self.last_update });
        update[kind] = content;
        self.updates.push(update);
        self.last_update
    }

    fn press(&mut self, (chat, name): (i64, &str), sent: &Sent, data: &str) -> i64 {
        let id = format!("q{}", self.last_update + 1);
        let mut message = message_of((sent.chat, "bot"), sent.id, &sent.text);
        message["from"] = json!({ "id": 7001, "is_bot": true, "first_name": "double" });
        // Whoever presses may be in another chat than the message: a stranger who made the press up.
        message["chat"]["id"] = json!(chat);
        self.update(
            "callback_query",
            json!({
                "id": id, "chat_instance": "c", "data": data, "message": message,
                "from": { "id": chat, "is_bot": false, "first_name": name },
            }),
        )
    }

    fn fault(&mut self, method: &str) -> Option<Fault> {
        let at = self.faults.iter().position(|(name, _)| name == method)?;
        Some(self.faults.remove(at).1)
    }

    /// Does what a method says; the error has a code and words.
    fn perform(&mut self, method: &str, params: &Value) -> Result<Value, (u64, String)> {
        let bad = |words: &str| Err((400, format!("Bad Request: {words}")));
        let chat = params["chat_id"].as_i64().unwrap_or_default();
        let text = params["text"].as_str().unwrap_or_default();
        match method {
            "getMe" => {
                Ok(json!({ "id": 7001, "is_bot": true, "first_name": "double", "username": "double_bot" }))
            }
            "sendMessage" | "editMessageText" if self.blocked.contains(&chat) => {
                Err((403, "Forbidden: bot was blocked by the user".to_owned()))
            }
            "sendMessage" | "editMessageText" if text.is_empty() => bad("message text is empty"),
            "sendMessage" | "editMessageText" if text.chars().count() > LONGEST_TEXT => {
                bad("message is too long")
            }
            "sendMessage" => {
                let Some(buttons) = buttons(params) else { return bad("BUTTON_DATA_INVALID") };
                let id = self.messages.len() as i64 + 1;
                self.messages.push(Sent {
                    id,
                    chat,
                    text: text.to_owned(),
                    buttons,
                    is_quiet: params["disable_notification"] == true,
                    to: params["reply_parameters"]["message_id"].as_i64(),
                    edits: 0,
                });
                Ok(message_of((chat, "bot"), id, text))
            }
            "editMessageText" => {
                let id = params["message_id"].as_i64().unwrap_or_default();
                let buttons = buttons(params).unwrap_or_default();
                let Some(sent) = self.messages.iter_mut().find(|sent| sent.id == id && sent.chat == chat)
                else {
                    return bad("message to edit not found");
                };
                if sent.text == text && sent.buttons == buttons {
                    return bad("message is not modified");
                }
                (sent.text, sent.buttons, sent.edits) = (text.to_owned(), buttons, sent.edits + 1);
                Ok(message_of((chat, "bot"), id, text))
            }
            "answerCallbackQuery" => {
                let id = params["callback_query_id"].as_str().unwrap_or_default();
                let Some(number) = id.strip_prefix('q').and_then(|number| number.parse().ok()) else {
                    return bad("query is too old and response timeout expired or query ID is invalid");
                };
                self.toasts.push((number, text.to_owned()));
                Ok(json!(true))
            }
            _ => Err((404, "Not Found: method not found".to_owned())),
        }
    }

    /// Returns the updates that are due, and forgets those that are confirmed.
    fn due(&mut self, offset: i64) -> Vec<Value> {
        self.updates.retain(|update| update["update_id"].as_i64().is_some_and(|number| number >= offset));
        let mut due = self.updates.clone();
        due.append(&mut self.again);
        if self.is_reversed {
            due.reverse();
        }
        for update in &due {
            self.calls.push(("given".to_owned(), update.clone()));
        }
        due
    }
}

/// Returns the buttons of a message; none if one of them carries too much.
fn buttons(params: &Value) -> Option<Vec<(String, String)>> {
    let rows = params["reply_markup"]["inline_keyboard"].as_array().cloned().unwrap_or_default();
    let all = rows.iter().filter_map(Value::as_array).flatten();
    all.map(|button| {
        let data = button["callback_data"].as_str()?.to_owned();
        (!data.is_empty() && data.len() <= MOST_DATA)
            .then(|| (button["text"].as_str().unwrap_or_default().to_owned(), data))
    })
    .collect()
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is whole, so a panic elsewhere does not spoil the state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn converse(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream);
        while let Some(request) = Incoming::read(&mut reader, &mut &*stream)? {
            let Some((status, body)) = self.answer(&request) else { return Ok(()) };
            let head = format!(
                "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            (&mut &*stream).write_all(format!("{head}{body}").as_bytes())?;
        }
        Ok(())
    }

    /// Answers a request; none if the connection breaks.
    fn answer(&self, request: &Incoming) -> Option<(u64, String)> {
        let refuse = |code: u64, words: &str| {
            Some((code, json!({ "ok": false, "error_code": code, "description": words }).to_string()))
        };
        let Some(method) = request.target.strip_prefix(&format!("/bot{TOKEN}/")).map(str::to_owned) else {
            return refuse(401, "Unauthorized");
        };
        let params: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let mut state = self.lock();
        state.calls.push((method.clone(), params.clone()));
        self.changed.notify_all();
        let fault = state.fault(&method);
        match fault {
            Some(Fault::Lost) => return None,
            Some(Fault::TooMany(seconds)) => {
                let words = format!("Too Many Requests: retry after {seconds}");
                let parameters = json!({ "retry_after": seconds });
                let body =
                    json!({ "ok": false, "error_code": 429, "description": words, "parameters": parameters });
                return Some((429, body.to_string()));
            }
            Some(Fault::Conflict) => {
                state.conflicts += 1;
                return refuse(409, CONFLICT);
            }
            Some(Fault::BadGateway) => return Some((502, "<html>bad gateway</html>".to_owned())),
            Some(Fault::Unanswered) | None => {}
        }
        if method == "getUpdates" {
            return self.poll(state, &params);
        }
        let done = state.perform(&method, &params);
        drop(state);
        self.changed.notify_all();
        if fault == Some(Fault::Unanswered) {
            return None;
        }
        match done {
            Ok(result) => Some((200, json!({ "ok": true, "result": result }).to_string())),
            Err((code, words)) => refuse(code, &words),
        }
    }

    fn poll(&self, mut state: MutexGuard<'_, State>, params: &Value) -> Option<(u64, String)> {
        state.poll += 1;
        let own = state.poll;
        let offset = params["offset"].as_i64().unwrap_or_default();
        state.offset = state.offset.max(offset);
        state.polls += 1;
        self.changed.notify_all();
        let patience = Duration::from_secs(params["timeout"].as_u64().unwrap_or_default());
        let begun = Instant::now();
        let answer = loop {
            if state.is_over {
                break None;
            }
            if state.poll != own {
                state.conflicts += 1;
                let body = json!({ "ok": false, "error_code": 409, "description": CONFLICT });
                break Some((409, body.to_string()));
            }
            let due = state.due(offset);
            let left = patience.saturating_sub(begun.elapsed());
            if !due.is_empty() || left.is_zero() {
                break Some((200, json!({ "ok": true, "result": due }).to_string()));
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        };
        state.polls -= 1;
        drop(state);
        self.changed.notify_all();
        answer
    }
}

/// What the one who polled earlier is told.
const CONFLICT: &str =
    "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running";
