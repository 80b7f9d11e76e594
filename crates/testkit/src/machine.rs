//! What the machine has to offer to tests: walls, and ports.

use std::{
    net::{Ipv4Addr, TcpListener, TcpStream},
    process::{Command, Stdio},
    sync::OnceLock,
};

use crate::agents::skip;

/// Tells whether an agent can be put behind walls here, as the product would: by a trial.
pub fn has_walls() -> bool {
    static TRIED: OnceLock<bool> = OnceLock::new();
    *TRIED.get_or_init(|| {
        let mut trial = Command::new("bwrap");
        trial.args(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]);
        trial.args(["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--cap-drop", "ALL", "true"]);
        trial.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        trial.status().is_ok_and(|status| status.success())
    })
}

/// Tells whether there can be walls; where there are none, says that the test is skipped.
pub fn has_walls_or_skip() -> bool {
    if !has_walls() {
        skip("there is no sandbox here");
    }
    has_walls()
}

/// Returns a port that nobody listens on, and that the system gives to nobody for a while.
///
/// A connection whose listening side has closed first keeps its port from being handed out again for a minute. Who asks
/// for the port by its number gets it all the same.
pub fn port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port can be had");
    let address = listener.local_addr().expect("a listener has an address");
    let caller = TcpStream::connect(address).expect("loopback works");
    let (called, _) = listener.accept().expect("a connection that was made can be taken");
    drop(called);
    drop(caller);
    address.port()
}
