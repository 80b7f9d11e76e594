//! Requests and answers as the doubles see them: whole, and without a runtime.

use axum::body::Bytes;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

/// A request that has come in whole.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The path without what follows a question mark, as it was sent.
    pub(crate) path: String,
    pub(crate) query_text: String,
    pub(crate) query: Vec<(String, String)>,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
    /// How the client reached the server: scheme and authority, for the addresses in answers.
    pub(crate) origin: String,
}

/// What a request says about who sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Credential {
    None,
    Token(String),
    /// The password of basic authentication; a forge takes a token there.
    Password(String),
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// Returns a parameter of the query that is not empty.
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str());
        found.filter(|value| !value.is_empty())
    }

    /// Returns the body as JSON; null if there is none or it is no JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Returns the path's segments, decoded.
    pub(crate) fn segments(&self) -> Vec<String> {
        self.path
            .split('/')
            .filter(|segment| !segment.is_empty())
            .map(|segment| decode(segment, false))
            .collect()
    }

    pub(crate) fn credential(&self) -> Credential {
        let Some((kind, value)) = self.header("authorization").and_then(|value| value.split_once(' ')) else {
            // Forgejo takes a token in the query as well; nothing of ours sends it there.
            return Credential::None;
        };
        if kind.eq_ignore_ascii_case("basic") {
            let bytes = BASE64_STANDARD.decode(value.trim()).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let (user, password) = text.split_once(':').unwrap_or((&text, ""));
            // A token alone stands in the place of the user's name.
            let secret = if password.is_empty() || password == "x-oauth-basic" { user } else { password };
            return Credential::Password(secret.to_owned());
        }
        Credential::Token(value.trim().to_owned())
    }
}

/// What a double answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// An answer, or the one that refuses the request.
pub(crate) type Reply = Result<Answer, Answer>;

impl Answer {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        let headers = vec![("content-type".to_owned(), "application/json; charset=utf-8".to_owned())];
        Self { status, headers, body: body.to_string().into_bytes() }
    }

    pub(crate) fn text(status: u16, body: &str) -> Self {
        let headers = vec![("content-type".to_owned(), "text/plain; charset=utf-8".to_owned())];
        Self { status, headers, body: body.as_bytes().to_vec() }
    }

    pub(crate) fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new() }
    }

    /// Refuses with a message, in the shape that all forges share.
    pub(crate) fn refuse(status: u16, message: &str) -> Self {
        Self::json(status, &json!({ "message": message }))
    }

    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// Returns the body as JSON; null if it is none.
    pub(crate) fn value(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// A part of a list, as a query asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) number: usize,
    pub(crate) size: usize,
}

impl Page {
    pub(crate) fn of(request: &Request, size_name: &str, usual: usize, most: usize) -> Self {
        let number = |name| request.query(name).and_then(|text| text.parse::<usize>().ok());
        let size = number(size_name).filter(|size| *size > 0).unwrap_or(usual).min(most);
        Self { number: number("page").unwrap_or(1).max(1), size }
    }

    pub(crate) fn cut<T>(self, all: Vec<T>) -> Vec<T> {
        all.into_iter().skip((self.number - 1) * self.size).take(self.size).collect()
    }

    /// Returns the `Link` header; none if everything is on one page.
    pub(crate) fn link(self, request: &Request, path: &str, total: usize) -> Option<String> {
        let last = total.div_ceil(self.size).max(1);
        let others: String = request
            .query
            .iter()
            .filter(|(name, _)| name != "page")
            .map(|(name, value)| format!("{}={}&", encode(name), encode(value)))
            .collect();
        let to =
            |page: usize, rel: &str| format!("<{}{path}?{others}page={page}>; rel=\"{rel}\"", request.origin);
        let mut links = Vec::new();
        if self.number > 1 {
            links.extend([to(self.number - 1, "prev"), to(1, "first")]);
        }
        if self.number < last {
            links.extend([to(self.number + 1, "next"), to(last, "last")]);
        }
        (!links.is_empty()).then(|| links.join(", "))
    }
}

/// Reads a query's parameters.
pub(crate) fn pairs(text: &str) -> Vec<(String, String)> {
    let parts = text.split('&').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (decode(name, true), decode(value, true))
        })
        .collect()
}

/// Takes percent signs out of a text, and plus signs where they stand for spaces.
pub(crate) fn decode(text: &str, is_query: bool) -> String {
    let bytes = text.as_bytes();
    let mut found = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let code = text.get(at + 1..at + 3).filter(|_| byte == b'%');
        if let Some(code) = code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            found.push(code);
            at += 3;
        } else {
            found.push(if byte == b'+' && is_query { b' ' } else { byte });
            at += 1;
        }
    }
    String::from_utf8_lossy(&found).into_owned()
}

/// Writes a text so that it can stand in a query or a path.
pub(crate) fn encode(text: &str) -> String {
    let mut found = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            found.push(char::from(byte));
        } else {
            found.push_str(&format!("%{byte:02X}"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        assert_eq!(decode(&encode("a b+c%/ü"), true), "a b+c%/ü");
        assert_eq!(decode("a+b%2", true), "a b%2");
        assert_eq!(decode("a+b", false), "a+b");
    }

    #[test]
    fn a_page_knows_its_neighbours() {
        let request = Request {
            method: "GET".to_owned(),
            path: String::new(),
            query_text: String::new(),
            query: pairs("state=all&page=2"),
            headers: Vec::new(),
            body: Bytes::new(),
            origin: "http://forge".to_owned(),
        };
        let page = Page::of(&request, "per_page", 2, 100);
        assert_eq!(page.cut((1..=5).collect()), [3, 4]);
        let link = page.link(&request, "/x", 5).unwrap();
        assert!(link.contains("<http://forge/x?state=all&page=3>; rel=\"next\""), "{link}");
        assert!(Page { number: 1, size: 5 }.link(&request, "/x", 5).is_none());
    }
}
