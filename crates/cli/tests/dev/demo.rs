//! A small web project: a server on sqlite, what migrates and seeds its database, all of it in this test's own program.
//!
//! `DEMO` says what the program is to be when it is started again by a command line of `dev.json`, or by an agent.

use std::{
    env, fs,
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    process,
};

use rusqlite::Connection;

/// Where the data is.
const DATABASE: &str = "dev.db";

/// Does nothing as a test.
#[test]
fn program() {
    match env::var("DEMO").as_deref() {
        Ok("serve") => serve(),
        Ok("migrate") => migrate(),
        Ok("seed") => seed(),
        Ok("quit") => quit(),
        Ok(other) => panic!("the demo is no `{other}`"),
        Err(_) => {}
    }
}

/// Returns a command line that starts this program as a part of the demo.
pub(crate) fn line(part: &str) -> String {
    let program = env::current_exe().unwrap();
    format!("DEMO={part} exec {} --exact dev::demo::program --nocapture", program.display())
}

/// Answers until it is asked to quit. A project with a file `broken` has a server that does not come up.
fn serve() {
    if fs::exists("broken").unwrap() {
        eprintln_now("the demo is broken");
        process::exit(3);
    }
    let port: u16 = env::var("PORT").unwrap().parse().unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
    for stream in listener.incoming() {
        answer(stream.unwrap());
    }
}

fn answer(mut stream: TcpStream) {
    let mut asked = [0; 1024];
    let count = stream.read(&mut asked).unwrap_or(0);
    let asked = String::from_utf8_lossy(&asked[..count]).into_owned();
    match asked.split(' ').nth(1).unwrap_or_default() {
        "/quit" => process::exit(4),
        "/teas" => say(&mut stream, &teas()),
        "/health" => say(&mut stream, "well"),
        _ => drop(stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")),
    }
}

fn say(stream: &mut TcpStream, text: &str) {
    let text =
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}", text.len());
    // Whoever has asked may be gone.
    drop(stream.write_all(text.as_bytes()));
}

fn teas() -> String {
    let database = Connection::open(DATABASE).unwrap();
    let mut select = database.prepare("SELECT name FROM teas ORDER BY id").unwrap();
    let names = select.query_map([], |row| row.get::<_, String>(0)).unwrap();
    names.map(Result::unwrap).collect::<Vec<_>>().join(",")
}

/// Runs the migrations that were not run yet.
fn migrate() {
    let database = Connection::open(DATABASE).unwrap();
    database.execute_batch("CREATE TABLE IF NOT EXISTS done (name TEXT PRIMARY KEY)").unwrap();
    let mut files: Vec<_> = fs::read_dir("migrations").unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let name = file.display().to_string();
        let all = database.unchecked_transaction().unwrap();
        if all.execute("INSERT OR IGNORE INTO done VALUES (?1)", [&name]).unwrap() == 1 {
            all.execute_batch(&fs::read_to_string(&file).unwrap()).unwrap();
        }
        all.commit().unwrap();
    }
}

fn seed() {
    let database = Connection::open(DATABASE).unwrap();
    database.execute_batch(&fs::read_to_string(env::var("FILE").unwrap()).unwrap()).unwrap();
}

/// Asks the server that the agent is told of to quit.
fn quit() {
    let url = env::var("WARP_DEV_URL").unwrap();
    let port: u16 = url.rsplit(':').next().unwrap().parse().unwrap();
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    stream.write_all(b"GET /quit HTTP/1.1\r\n\r\n").unwrap();
    // It is closed when the server has ended.
    drop(stream.read(&mut [0; 64]));
}

/// Says something that is not swallowed by the test's own output.
fn eprintln_now(text: &str) {
    drop(std::io::stderr().lock().write_all(format!("{text}\n").as_bytes()));
}
