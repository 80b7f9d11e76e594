//! A proxy that is killed in the middle of a stream: what was booked is on disk.
//!
//! This program starts itself again as the process that is killed.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::{
    env,
    fs::{self, File},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    os::unix::process::ExitStatusExt as _,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, mpsc::channel},
    thread,
};

use meter::{Book, BookError, Opening, Refusal, Stage, Ticket, Tokens};
use support::{PATIENCE, Provider, answer, event, proxy, send};

/// What tells the process to be the proxy: where its book is, where its provider is, and where the test listens.
const BOOK: &str = "WARP_TEST_METER_BOOK";
const PROVIDER: &str = "WARP_TEST_METER_PROVIDER";
const TEST: &str = "WARP_TEST_METER_TEST";

/// A book in a file, a line for each booking; the test is told when a line is on disk.
struct Paper {
    file: Mutex<File>,
    test: Mutex<TcpStream>,
}

impl Paper {
    fn write(&self, line: &str) {
        let mut file = self.file.lock().unwrap();
        writeln!(file, "{line}").and_then(|()| file.sync_data()).unwrap();
        writeln!(self.test.lock().unwrap(), "{line}").unwrap();
    }
}

impl Book for Paper {
    fn open(&self, opening: &Opening) -> Result<Option<Ticket>, Refusal> {
        self.write(&format!("open {}", opening.estimate.input));
        Ok(Some(Ticket("1".to_owned())))
    }

    fn book(&self, _: &Ticket, tokens: Tokens, stage: Stage) -> Result<(), BookError> {
        self.write(&format!("booked {} {} {stage:?}", tokens.input, tokens.output));
        Ok(())
    }
}

/// Ends the process, whatever becomes of the test.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).unwrap();
    }
}

#[test]
fn the_process_that_is_killed() {
    let (Ok(book), Ok(provider), Ok(test)) = (env::var(BOOK), env::var(PROVIDER), env::var(TEST)) else {
        return;
    };
    let mut test = TcpStream::connect(test).unwrap();
    let file = Mutex::new(File::create_new(book).unwrap());
    let proxy = proxy(Arc::new(Paper { file, test: Mutex::new(test.try_clone().unwrap()) }), &provider);
    writeln!(test, "{}", proxy.anthropic_url()).unwrap();
    // Until it is killed, or the test is gone.
    test.set_read_timeout(Some(PATIENCE)).unwrap();
    let _ = test.read(&mut [0]);
}

#[test]
fn what_was_booked_survives_a_kill_in_the_middle_of_a_stream() {
    let provider = Provider::start(|_, stream| {
        let start = r#"{"type":"message_start","message":{"usage":{"input_tokens":40,"output_tokens":1}}}"#;
        let words = "word".repeat(5000);
        let delta =
            format!(r#"{{"type":"content_block_delta","delta":{{"type":"text_delta","text":"{words}"}}}}"#);
        let body = [start, &delta].map(event).concat();
        stream.write_all(answer("text/event-stream", &body).as_bytes()).unwrap();
        // The stream goes on until the proxy is gone.
        let _ = stream.read(&mut [0]);
    });
    let directory = tempfile::tempdir().unwrap();
    let book = directory.path().join("book");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--exact", "the_process_that_is_killed"])
        .env(BOOK, &book)
        .env(PROVIDER, &provider.url)
        .env(TEST, listener.local_addr().unwrap().to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let mut child = Killed(command.spawn().unwrap());
    let (say, connected) = channel();
    thread::spawn(move || say.send(listener.accept()));
    let (stream, _) = connected.recv_timeout(PATIENCE).unwrap().unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut told = BufReader::new(stream).lines().map(Result::unwrap);

    let url = told.next().unwrap();
    let request = r#"{"messages":[{"content":"12345678"}]}"#;
    let _answer = send("POST", &format!("{url}/v1/messages"), "", request.as_bytes());
    let last = told.find(|line| line == "booked 40 5000 UnderWay").unwrap();
    child.0.kill().unwrap();
    assert_eq!(child.0.wait().unwrap().signal(), Some(9));
    let kept = fs::read_to_string(&book).unwrap();
    assert!(kept.starts_with("open 2\n") && kept.ends_with(&format!("{last}\n")), "{kept}");
}
