//! A package index on this machine, with the wheels that the tests are given.

use std::{
    collections::BTreeMap,
    env, fs,
    io::{BufRead as _, BufReader, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::OnceLock,
    thread,
};

use testkit::Sandbox;

/// The variable that names a directory with wheels of pytest and what it needs.
pub(crate) const WHEELS: &str = "WARP_TEST_WHEELS";

/// Tells the person's pip that there is this index and no other.
pub(crate) fn serve(sandbox: &Sandbox, _: &Path) -> Vec<(&'static str, String)> {
    let pip = sandbox.home().join("config/pip");
    fs::create_dir_all(&pip).unwrap();
    let settings = format!(
        "[global]\nindex-url = http://127.0.0.1:{}/simple\ndisable-pip-version-check = true\n",
        port()
    );
    fs::write(pip.join("pip.conf"), settings).unwrap();
    Vec::new()
}

/// Starts the index if it is not there yet. It ends with the tests.
fn port() -> u16 {
    static PORT: OnceLock<u16> = OnceLock::new();
    *PORT.get_or_init(|| {
        let wheels = wheels(&PathBuf::from(env::var_os(WHEELS).unwrap()));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let wheels = wheels.clone();
                thread::spawn(move || answer(stream, &wheels));
            }
        });
        port
    })
}

/// Returns the wheels by the names of their packages.
fn wheels(directory: &Path) -> BTreeMap<String, PathBuf> {
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let wheels = files.filter(|path| path.extension().is_some_and(|extension| extension == "whl"));
    wheels.map(|path| (package(&path).to_lowercase().replace('_', "-"), path)).collect()
}

fn package(path: &Path) -> String {
    let name = path.file_name().unwrap().to_str().unwrap();
    name.split('-').next().unwrap().to_owned()
}

/// Answers requests for `/simple/PACKAGE/` and `/files/PACKAGE/WHEEL`; one that goes away in between needs no answer.
fn answer(mut stream: TcpStream, wheels: &BTreeMap<String, PathBuf>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let path = line.split_whitespace().nth(1)?.to_owned();
        let mut header = String::new();
        while reader.read_line(&mut header).ok()? > 2 {
            header.clear();
        }
        let mut parts = path.trim_matches('/').split('/');
        let (kind, wheel) = (parts.next(), parts.next().and_then(|name| Some((name, wheels.get(name)?))));
        let (status, body) = match (kind, wheel) {
            (Some("simple"), Some((name, wheel))) => {
                let file = wheel.file_name()?.to_str()?;
                ("200 OK", format!("<a href=\"/files/{name}/{file}\">{file}</a>").into_bytes())
            }
            (Some("files"), Some((_, wheel))) => ("200 OK", fs::read(wheel).ok()?),
            _ => ("404 Not Found", Vec::new()),
        };
        let kind = if kind == Some("simple") { "text/html" } else { "application/octet-stream" };
        let head =
            format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body)).ok()?;
    }
}
