//! Loopback: whether a server answers on a port, and who has the port.
//!
//! Servers that are told to listen on `localhost` take the address of either family, so both are asked.

use std::{
    fs,
    io::{self, ErrorKind, Read as _, Write as _},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream},
    time::{Duration, Instant},
};

use crate::machine;

/// The addresses of this machine.
const ADDRESSES: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
/// The longest first line of an answer that is read, in bytes.
const LONGEST_LINE: usize = 4096;
/// The state of a socket that listens, as the kernel's tables write it.
const LISTENS: &str = "0A";

/// Why a server is not healthy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unhealthy {
    #[error("nothing listens on port {port}")]
    Refused { port: u16 },
    #[error("`{path}` on port {port} answers with {code}")]
    Status { port: u16, path: String, code: u16 },
    #[error("port {port} does not answer within {} ms", limit.as_millis())]
    Silent { port: u16, limit: Duration },
    #[error("what answers on port {port} does not speak HTTP")]
    NotHttp { port: u16 },
    #[error("port {port} cannot be asked: {problem}")]
    Failed { port: u16, problem: String },
}

/// A process that listens on a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub pid: u32,
    /// The program's short name, as the kernel keeps it.
    pub name: String,
}

/// Asks the server on a port, for at most `limit`. Without a path it is enough that it takes the call.
pub fn ask(port: u16, path: Option<&str>, limit: Duration) -> Result<(), Unhealthy> {
    let until = Instant::now() + limit;
    let mut worst = Unhealthy::Refused { port };
    for address in ADDRESSES {
        match ask_at(SocketAddr::new(address, port), path, until) {
            Ok(code) if (200..400).contains(&code) => return Ok(()),
            Ok(code) => {
                return Err(Unhealthy::Status { port, path: path.unwrap_or_default().to_owned(), code });
            }
            Err(error) => worst = reason(port, limit, &error).unwrap_or(worst),
        }
    }
    Err(worst)
}

/// Says why a server could not be asked; nothing if nobody is there.
fn reason(port: u16, limit: Duration, error: &io::Error) -> Option<Unhealthy> {
    let is = |kinds: [ErrorKind; 2]| kinds.contains(&error.kind());
    if is([ErrorKind::ConnectionRefused, ErrorKind::AddrNotAvailable]) {
        None
    } else if is([ErrorKind::TimedOut, ErrorKind::WouldBlock]) {
        Some(Unhealthy::Silent { port, limit })
    } else if error.kind() == ErrorKind::InvalidData {
        Some(Unhealthy::NotHttp { port })
    } else {
        Some(Unhealthy::Failed { port, problem: error.to_string() })
    }
}

/// Asks at one address, and returns the status; that of success if the call alone is enough.
fn ask_at(address: SocketAddr, path: Option<&str>, until: Instant) -> io::Result<u16> {
    let mut stream = TcpStream::connect_timeout(&address, left(until)?)?;
    let Some(path) = path else { return Ok(200) };
    stream.set_write_timeout(Some(left(until)?))?;
    let port = address.port();
    let call = format!(
        "GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\nUser-Agent: warp\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(call.as_bytes())?;
    let mut line = Vec::new();
    let mut buffer = [0; 512];
    while !line.contains(&b'\n') && line.len() < LONGEST_LINE {
        stream.set_read_timeout(Some(left(until)?))?;
        match stream.read(&mut buffer)? {
            0 => break,
            count => line.extend_from_slice(&buffer[..count]),
        }
    }
    status(&line).ok_or_else(|| ErrorKind::InvalidData.into())
}

/// Reads the status off the first line of an answer.
fn status(line: &[u8]) -> Option<u16> {
    let line = std::str::from_utf8(line.split(|byte| *byte == b'\r' || *byte == b'\n').next()?).ok()?;
    let mut words = line.split(' ');
    words.next().filter(|version| version.starts_with("HTTP/1."))?;
    words.next()?.parse().ok().filter(|code| (100..600).contains(code))
}

fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Tells whether somebody listens on a port.
pub fn is_taken(port: u16) -> bool {
    let bind = |address| TcpListener::bind(SocketAddr::new(address, port));
    ADDRESSES
        .into_iter()
        .any(|address| bind(address).is_err_and(|error| error.kind() == ErrorKind::AddrInUse))
}

/// Returns a port that nobody has at the moment.
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(SocketAddr::new(ADDRESSES[0], 0))?.local_addr()?.port())
}

/// Finds who listens on a port, as far as this user may see.
pub fn holder(port: u16) -> Option<Holder> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    let sockets: Vec<String> = tables.iter().flat_map(|table| listeners(table, port)).collect();
    let has = |pid: &u32| {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let mut links = files.filter_map(|file| fs::read_link(file.path()).ok());
        links.any(|link| link.to_str().is_some_and(|link| sockets.iter().any(|socket| socket == link)))
    };
    let pid = machine::processes().find(|pid| !sockets.is_empty() && has(pid))?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(Holder { pid, name: name.trim_end().to_owned() })
}

/// Reads the sockets that listen on a port off one of the kernel's tables.
fn listeners(table: &str, port: u16) -> Vec<String> {
    let ending = format!(":{port:04X}");
    let socket = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_it = words.get(1)?.ends_with(&ending) && *words.get(3)? == LISTENS;
        is_it.then_some(format!("socket:[{}]", words.get(9)?))
    };
    table.lines().skip(1).filter_map(socket).collect()
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {} ({})", self.pid, self.name)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    /// Answers one call with these bytes; returns the port and what was asked.
    fn answering(bytes: &'static [u8]) -> (u16, thread::JoinHandle<String>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = [0; 1024];
            let count = stream.read(&mut asked).unwrap();
            stream.write_all(bytes).unwrap();
            String::from_utf8_lossy(&asked[..count]).into_owned()
        });
        (port, asked)
    }

    #[test]
    fn a_server_that_answers_well_is_healthy() {
        let (port, asked) = answering(b"HTTP/1.1 204 No Content\r\n\r\n");
        assert_eq!(ask(port, Some("/health"), LIMIT), Ok(()));
        assert!(asked.join().unwrap().starts_with("GET /health HTTP/1.1\r\nHost: localhost:"));
        let (port, _asked) = answering(b"HTTP/1.0 302 Found\r\nLocation: /login\r\n\r\n");
        assert_eq!(ask(port, Some("/"), LIMIT), Ok(()));
    }

    #[test]
    fn an_error_of_the_server_and_what_is_no_http_are_told_apart() {
        let (port, _asked) = answering(b"HTTP/1.1 503 Not Now\r\n\r\n");
        let status = Unhealthy::Status { port, path: "/health".to_owned(), code: 503 };
        assert_eq!(ask(port, Some("/health"), LIMIT), Err(status));
        for bytes in [b"SSH-2.0-OpenSSH_9\r\n".as_slice(), b"", b"HTTP/1.1 yes\r\n", b"HTTP/1.1 999\r\n"] {
            let (port, _asked) = answering(bytes);
            let unhealthy = ask(port, Some("/"), LIMIT).unwrap_err();
            // One that closes at once may do so before everything is written.
            let is_so = matches!(unhealthy, Unhealthy::NotHttp { .. } | Unhealthy::Failed { .. });
            assert!(is_so, "{unhealthy:?} {}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn a_server_that_says_nothing_is_waited_for_no_longer_than_the_limit() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let limit = Duration::from_millis(50);
        assert_eq!(ask(port, Some("/"), limit), Err(Unhealthy::Silent { port, limit }));
        assert_eq!(ask(port, None, LIMIT), Ok(()));
    }

    #[test]
    fn a_port_that_is_taken_has_a_holder_and_a_free_one_has_none() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(is_taken(port));
        assert_eq!(holder(port).unwrap().pid, std::process::id());
        drop(listener);
        let free = free_port().unwrap();
        assert_eq!((is_taken(free), holder(free)), (false, None));
        assert_eq!(ask(free, Some("/"), LIMIT), Err(Unhealthy::Refused { port: free }));
    }
}
