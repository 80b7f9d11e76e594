//! Secrets that are known by a name beside them: in the environment, and in files of the person's home.

use std::{fs, io::Read as _, path::Path};

use serde_json::Value;

use crate::sandbox;

/// The largest file that is read for secrets, in bytes.
const LARGEST: u64 = 256 * 1024;

/// Parts of a name that say what it holds, and endings of such parts.
const SECRET: &[&str] =
    &["TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "CREDENTIAL", "CREDENTIALS"];
const SECRET_PARTS: &[&str] = &["PAT", "AUTH", "PASS", "PW"];
/// What is told about a secret without telling it.
const ABOUT: &[&str] = &[
    "URL", "URI", "PATH", "FILE", "DIR", "HOST", "PORT", "NAME", "USER", "USERNAME", "TYPE", "METHOD",
    "SOCK", "TTL", "EXPIRES", "EXPIRY", "ENABLED", "MODE", "LIMIT", "COUNT", "SCOPE", "SCOPES",
];

/// Files of the home that hold logins, and how they are read.
const FILES: &[(&str, Format)] = &[
    (".config/gh/hosts.yml", Format::Lines),
    (".config/glab-cli/config.yml", Format::Lines),
    (".config/tea/config.yml", Format::Lines),
    (".config/hub", Format::Lines),
    (".git-credentials", Format::Addresses),
    (".config/git/credentials", Format::Addresses),
    (".netrc", Format::Words),
    (".claude/.credentials.json", Format::Json),
    (".codex/auth.json", Format::Json),
    (".local/share/opencode/auth.json", Format::Json),
    (".config/warp/telegram-token", Format::Whole),
];

#[derive(Clone, Copy)]
enum Format {
    /// `name: value` or `name = value`.
    Lines,
    /// `name value`, anywhere.
    Words,
    /// `https://name:password@host`.
    Addresses,
    Json,
    /// The value and nothing else.
    Whole,
}

/// Tells whether something of this name is a secret.
pub(super) fn is_secret(name: &str) -> bool {
    let name = parts(name);
    let Some(last) = name.last() else { return false };
    if ABOUT.contains(&last.as_str()) || name.iter().any(|part| part == "PUBLIC") {
        return false;
    }
    let is_key = last == "KEY"
        || name
            .windows(2)
            .any(|two| two[1] == "KEY" && ["ACCESS", "API", "PRIVATE"].contains(&two[0].as_str()));
    let says_so = |part: &String| {
        SECRET_PARTS.contains(&part.as_str()) || SECRET.iter().any(|word| part.ends_with(word))
    };
    is_key || name.iter().any(says_so)
}

/// Splits a name into its words: `GH_TOKEN`, `gh-token` and `ghToken` are the same.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut before = ' ';
    for letter in name.chars() {
        let is_new =
            !letter.is_ascii_alphanumeric() || (letter.is_ascii_uppercase() && before.is_ascii_lowercase());
        if is_new {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut().filter(|_| letter.is_ascii_alphanumeric()) {
            part.push(letter.to_ascii_uppercase());
        }
        before = letter;
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Tells whether a value only says where something is.
pub(super) fn is_place(value: &str) -> bool {
    let value = value.trim();
    if ["~/", "./", "../"].iter().any(|start| value.starts_with(start)) {
        return true;
    }
    // A secret may well begin with a slash, but hardly with the name of a directory of this machine.
    let first = value.strip_prefix('/').and_then(|rest| rest.split('/').next());
    first.is_some_and(|first| !first.is_empty() && Path::new("/").join(first).exists())
}

/// Returns the secrets in the files of a home that hold logins.
pub(super) fn in_home(home: &Path) -> Vec<String> {
    let mut values = Vec::new();
    for (name, format) in FILES {
        let places = std::iter::once(home.join(name)).chain(sandbox::elsewhere(name));
        for text in places.filter_map(|place| read(&place)) {
            match format {
                Format::Lines => values.extend(in_lines(&text).map(str::to_owned)),
                Format::Words => values.extend(in_words(&text).map(str::to_owned)),
                Format::Whole => values.push(text.trim().to_owned()),
                Format::Addresses => values.extend(text.lines().filter_map(password)),
                Format::Json => {
                    if let Ok(value) = serde_json::from_str(&text) {
                        in_json(&value, &mut values);
                    }
                }
            }
        }
    }
    values
}

/// Reads a file, if there is one and it is no larger than such a file is. One that cannot be read holds nothing that
/// anybody here could know.
fn read(path: &Path) -> Option<String> {
    let data = path.metadata().ok()?;
    if !data.is_file() {
        return None;
    }
    let mut text = Vec::new();
    fs::File::open(path).ok()?.take(LARGEST).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Returns what a file of settings names as a secret.
pub(super) fn in_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let (name, value) = line.split_once([':', '='])?;
        let value = value.trim().trim_matches(['"', '\'', ',']);
        (is_secret(name) && !is_place(value)).then_some(value)
    })
}

fn in_words(text: &str) -> impl Iterator<Item = &str> {
    let names = text.split_whitespace();
    names.zip(text.split_whitespace().skip(1)).filter(|(name, _)| is_secret(name)).map(|(_, value)| value)
}

fn in_json(value: &Value, values: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field.as_str().filter(|_| is_secret(name)) {
                    Some(text) => values.push(text.to_owned()),
                    None => in_json(field, values),
                }
            }
        }
        Value::Array(entries) => entries.iter().for_each(|entry| in_json(entry, values)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns the password of an address, as it is without escapes.
fn password(line: &str) -> Option<String> {
    let (login, _) = line.trim().split_once("://")?.1.rsplit_once('@')?;
    let password = login.split_once(':').map_or(login, |(_, password)| password);
    let mut bytes = Vec::new();
    let mut rest = password.bytes();
    while let Some(byte) = rest.next() {
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
        match byte {
            b'%' => bytes.push(u8::try_from(digit()? * 16 + digit()?).ok()?),
            _ => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_secret() {
        for name in [
            "GH_TOKEN",
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "OPENAI_API_KEY",
            "PGPASSWORD",
            "DB_PASSWD",
            "ACME_PAT",
            "NPM_CONFIG__AUTHTOKEN",
            "BASIC_AUTH",
            "SIGNING_KEY",
            "accessToken",
            "oauth_token",
            "client-secret",
            "password",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "PATH",
            "GIT_AUTHOR_NAME",
            "SSH_AUTH_SOCK",
            "KEYBOARD",
            "TOKEN_URL",
            "PUBLIC_KEY",
            "MAX_OUTPUT_TOKENS",
            "PATTERN",
            "XAUTHORITY",
            "PASSWORD_FILE",
            "COMPASS",
            "",
            "_",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn files_of_the_home_are_read_in_their_own_ways() {
        let home = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = home.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(".config/gh/hosts.yml", "github.com:\n    user: ann\n    oauth_token: from-gh-hosts\n");
        write(".netrc", "machine example.org login ann\n  password from-netrc-1\n");
        write(".git-credentials", "https://ann:from%2Fgit@example.org\nnothing\n");
        write(
            ".claude/.credentials.json",
            r#"{"claudeAiOauth":{"accessToken":"from-claude","scopes":["a"]}}"#,
        );
        write(".codex/auth.json", "{broken");
        let found = in_home(home.path());
        for value in ["from-gh-hosts", "from/git", "from-netrc-1", "from-claude"] {
            assert!(found.iter().any(|found| found == value), "{value}: {found:?}");
        }
    }

    #[test]
    fn a_place_is_no_secret() {
        assert!(is_place("/etc/ssl/key.pem") && is_place("~/key") && is_place("./key"));
        assert!(!is_place("/9j4AAQSkZJRg/ab") && !is_place("s3cret-value"));
    }
}
