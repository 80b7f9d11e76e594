//! What can go wrong with a request: which one, and how.

/// A fault of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub call: Call,
    /// Which of the matching requests from now on, counted from 1.
    pub nth: usize,
    pub kind: FaultKind,
}

/// Which requests a fault is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// A method, or `*`.
    method: String,
    /// A path without its prefix for the API; `*` is one segment, `**` at the end any number.
    path: String,
}

/// How a request goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The connection breaks; nothing was done.
    ErrorBefore,
    /// The request is carried out; then the connection breaks without an answer.
    ErrorAfterWrite,
    /// The request is carried out, and never answered while the double lives.
    Timeout,
    /// 429 with `retry-after`; nothing was done.
    RateLimited429 { retry_after: u64 },
    /// GitHub's secondary limit: 403 with `retry-after`; nothing was done.
    Secondary403 { retry_after: u64 },
    /// A status of 500 or more, and HTML; nothing was done.
    ServerError5xx(u16),
    /// A status of 500 or more after the request was carried out.
    ServerErrorAfterWrite(u16),
    /// The request is carried out and answered with its status and `null`.
    NullBody,
    /// A write is carried out twice; a list shows its first entry twice.
    Duplicate,
}

impl Call {
    /// Reads a call such as `POST /repos/*/*/issues`.
    pub fn new(text: &str) -> Self {
        let (method, path) = text.split_once(' ').unwrap_or(("*", text));
        Self { method: method.to_owned(), path: path.to_owned() }
    }

    pub(crate) fn matches(&self, method: &str, path: &str) -> bool {
        if self.method != "*" && self.method != method {
            return false;
        }
        let mut wanted = self.path.trim_matches('/').split('/');
        let mut given = path.trim_matches('/').split('/');
        loop {
            match (wanted.next(), given.next()) {
                (None, None) | (Some("**"), _) => return true,
                (Some(one), Some(other)) if one == "*" || one == other => {}
                _ => return false,
            }
        }
    }
}

impl Fault {
    /// The next request of a kind goes wrong.
    pub fn next(call: &str, kind: FaultKind) -> Self {
        Self { call: Call::new(call), nth: 1, kind }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_one_segment() {
        let call = Call::new("POST /repos/*/*/issues");
        assert!(call.matches("POST", "/repos/acme/shop/issues"));
        assert!(!call.matches("GET", "/repos/acme/shop/issues"));
        assert!(!call.matches("POST", "/repos/acme/shop/issues/1"));
        assert!(Call::new("* /repos/**").matches("GET", "/repos/acme/shop/issues/1"));
    }
}
