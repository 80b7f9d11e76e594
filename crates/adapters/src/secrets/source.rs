//! Secrets in source code, before it is committed.
//!
//! What is taken out of a text costs a word; what holds a commit back costs a person's time. So this is stricter than
//! `pattern`: a token has to look random, and examples, placeholders, hashes and identifiers are no secrets.

use std::ops::Range;

use super::{Secrets, found, named, pattern};

/// The shortest value of a named secret, in bytes.
const LEAST_VALUE: usize = 16;
/// The shortest known secret that is looked for, in bytes.
const LEAST_KNOWN: usize = 12;
/// How random a value is at least, in bits for each character.
const LEAST_ENTROPY: f64 = 3.3;
/// How much of a private key follows its first line at least, in characters.
const LEAST_KEY: usize = 64;

/// Words in a value, or in the line around it, that say that it is no real one.
const FAKE: &[&str] = &[
    "example",
    "sample",
    "dummy",
    "fake",
    "mock",
    "placeholder",
    "changeme",
    "change-me",
    "change_me",
    "redacted",
    "your-",
    "your_",
    "yourtoken",
    "xxxx",
    "....",
    "****",
    "<",
    "notasecret",
    "not-a-secret",
    "not_a_secret",
    "insert",
    "todo",
    "lorem",
    "foobar",
    "testing",
    "test-",
    "test_",
    "-test",
    "_test",
];
/// Hosts of addresses whose password is nobody's.
const HARMLESS_HOSTS: &[&str] = &[
    "localhost",
    "127.0.0.1",
    "0.0.0.0",
    "[::1]",
    "db",
    "postgres",
    "mysql",
    "redis",
    "rabbitmq",
    "mongo",
    "host",
];
/// Parts of JSON web tokens that the documentation of the format uses.
const KNOWN_WEB_TOKENS: &[&str] =
    &["eyJzdWIiOiIxMjM0NTY3ODkwIi", "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"];

/// How tokens are called, by how they begin.
const KINDS: &[(&str, &str)] = &[
    ("sk-ant-", "an Anthropic API key"),
    ("sk-", "an API key"),
    ("sk_live_", "a Stripe key"),
    ("rk_live_", "a Stripe key"),
    ("gh", "a GitHub token"),
    ("github_pat_", "a GitHub token"),
    ("glpat-", "a GitLab token"),
    ("gldt-", "a GitLab token"),
    ("xox", "a Slack token"),
    ("xapp-", "a Slack token"),
    ("AKIA", "an AWS access key"),
    ("ASIA", "an AWS access key"),
    ("AIza", "a Google API key"),
    ("AGE-SECRET-KEY-", "an age key"),
    ("npm_", "an npm token"),
    ("pypi-", "a PyPI token"),
    ("hf_", "a Hugging Face token"),
    ("dckr_pat_", "a Docker Hub token"),
    ("dop_v1_", "a DigitalOcean token"),
    ("ya29.", "a Google access token"),
    ("eyJ", "a JSON web token"),
];

/// A secret found in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecretMatch {
    /// From 1.
    pub line: u64,
    /// What it is, in words; never the secret.
    pub what: &'static str,
}

impl Secrets {
    /// Finds what looks like a real secret in a file's text, at most one in a line, and these secrets wherever they are.
    pub fn in_source(&self, text: &str) -> Vec<SecretMatch> {
        let lines: Vec<&str> = text.lines().collect();
        let mut sightings = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            if let Some(what) = self.in_line(line).or_else(|| private_key(&lines[at..])) {
                sightings.push(SecretMatch { line: at as u64 + 1, what });
            }
        }
        sightings
    }

    fn in_line(&self, line: &str) -> Option<&'static str> {
        // A short or plain value of the environment may well be a word of the project's.
        let is_telling = |value: &&String| value.len() >= LEAST_KNOWN && is_mixed(value);
        let mut known = self.values.iter().filter(is_telling);
        if known.any(|value| found(line, 0, value).next().is_some()) {
            return Some("a secret of this machine");
        }
        let spans = pattern::find(line);
        spans.into_iter().find_map(|span| kind_of(line, span)).or_else(|| assigned(line))
    }
}

/// Says what a finding is, if it is real.
fn kind_of(line: &str, span: Range<usize>) -> Option<&'static str> {
    let found = &line[span.clone()];
    if found.starts_with("-----BEGIN")
        || is_fake(found)
        || KNOWN_WEB_TOKENS.iter().any(|known| found.contains(known))
    {
        return None;
    }
    let known =
        KINDS.iter().filter(|(start, _)| found.starts_with(start)).max_by_key(|(start, _)| start.len());
    if let Some((start, kind)) = known {
        let rest = &found[start.len()..];
        return (entropy(rest) >= LEAST_ENTROPY.min(longest_entropy(rest) * 0.8) && !is_sequence(rest))
            .then_some(*kind);
    }
    let before = &line[..span.start];
    if before.ends_with("://") {
        let password = found.split_once(':').map_or(found, |(_, password)| password);
        let host = line[span.end..].trim_start_matches('@');
        let host = host.split([':', '/', '"', '\'', ' ', '`', '?']).next().unwrap_or_default();
        let is_harmless = HARMLESS_HOSTS.contains(&host) || !host.contains('.') || is_fake(host);
        return (!is_harmless && password.len() >= 8 && is_mixed(password))
            .then_some("a password in an address");
    }
    (is_mixed(found) && entropy(found) >= LEAST_ENTROPY).then_some("a login in a header")
}

/// A private key in its armour, with enough of it to be one.
fn private_key(lines: &[&str]) -> Option<&'static str> {
    let first = lines.first()?;
    if !pattern::begins_key(first) {
        return None;
    }
    let rest = first.split_once(" PRIVATE KEY").map(|(_, rest)| rest).unwrap_or_default();
    let others = lines.iter().skip(1).take_while(|line| !pattern::ends_key(line)).take(100);
    let mut letters = String::new();
    for part in
        std::iter::once(rest).chain(others.map(|line| line.trim_matches([' ', '\t', '"', '\'', '+', ','])))
    {
        letters.extend(part.chars().filter(char::is_ascii_alphanumeric));
    }
    (letters.len() >= LEAST_KEY && entropy(&letters) >= LEAST_ENTROPY && !is_fake(&letters))
        .then_some("a private key")
}

/// A value that its name calls a secret: `API_KEY = "…"`, `password: …`.
fn assigned(line: &str) -> Option<&'static str> {
    if line.len() > 2000 {
        return None;
    }
    let (at, sign) = line.char_indices().find(|(_, letter)| *letter == '=' || *letter == ':')?;
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let name = line[..at].trim_end_matches([' ', '"', '\'', ']', '?']);
    let name = name.rsplit(|letter| !is_name(letter)).next().unwrap_or_default();
    // Where a long answer goes on is told by a token too, which nobody has to hide.
    let is_page =
        ["next", "page", "continuation"].iter().any(|start| name.to_ascii_lowercase().starts_with(start));
    if name.is_empty() || is_page || !named::is_secret(name) {
        return None;
    }
    let rest = line[at + sign.len_utf8()..].trim_start_matches(['=', '>', ':', ' ', '\t']);
    let quote = rest.chars().next().filter(|letter| ['"', '\'', '`'].contains(letter));
    let value = match quote {
        Some(quote) => rest[1..].split(quote).next().unwrap_or_default(),
        // Without quotes it is a value in a file of settings and an expression in a program.
        None => rest.split([' ', ',', ';', '#']).next().unwrap_or_default(),
    };
    let may_hold = |letter: char| letter.is_ascii_alphanumeric() || "+/=_-!@#$%^&*~.".contains(letter);
    let is_constant =
        value.chars().all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_');
    let is_plain =
        value.chars().all(may_hold) && (quote.is_some() || (!is_constant && !value.contains(['.', '$'])));
    // A name has its digits in one place: `X509Options`, `nl80211_pattern_support`.
    let least_changes = if quote.is_some() { 3 } else { 4 };
    let is_one = value.len() >= LEAST_VALUE
        && is_plain
        && changes(value) >= least_changes
        && is_mixed(value)
        && entropy(value) >= LEAST_ENTROPY
        && !is_fake(value)
        && !is_sequence(value)
        && !is_hash(value)
        && !is_words(value);
    is_one.then_some("a value that its name calls a secret")
}

/// Tells whether somebody shows what a secret looks like.
fn is_fake(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    FAKE.iter().any(|word| value.contains(word))
        || value.starts_with("${")
        || value.starts_with("{{")
        || value.starts_with('%')
        || is_repeated(&value)
}

/// Tells whether a value repeats a few characters.
fn is_repeated(value: &str) -> bool {
    let mut letters: Vec<char> = value.chars().filter(char::is_ascii_alphanumeric).collect();
    let all = letters.len();
    letters.sort_unstable();
    letters.dedup();
    all >= 12 && letters.len() <= 5
}

/// Tells whether the letters or digits of a value follow each other, as in `abcdefgh` and `12345678`.
fn is_sequence(value: &str) -> bool {
    let bytes = value.as_bytes();
    let follows = |two: &[u8]| two[1] == two[0].wrapping_add(1) || two == b"90" || two[0] == two[1];
    let following = bytes.windows(2).filter(|two| follows(two)).count();
    bytes.len() >= 8 && following * 2 > bytes.len()
}

/// Tells whether a value is a hash or an id in hexadecimal digits.
fn is_hash(value: &str) -> bool {
    let digits = value.trim_start_matches("sha256-").trim_start_matches("sha512-");
    digits.chars().all(|letter| letter.is_ascii_hexdigit() || letter == '-') || digits.len() != value.len()
}

/// Tells whether a value consists of words: a name, a path, a key of a translation.
fn is_words(value: &str) -> bool {
    let is_word = |part: &str| {
        part.len() <= 12 && (part.chars().all(|letter| letter.is_ascii_alphabetic()) || part.len() <= 4)
    };
    value.split(['-', '_', '.', '/']).all(is_word) && value.contains(['-', '_', '.', '/'])
}

/// Returns how often letters and digits follow each other in a value.
fn changes(value: &str) -> usize {
    let both = |two: &[u8]| {
        let (one, other) = (two[0].is_ascii_digit(), two[1].is_ascii_digit());
        one != other && two[0].is_ascii_alphanumeric() && two[1].is_ascii_alphanumeric()
    };
    value.as_bytes().windows(2).filter(|two| both(two)).count()
}

fn is_mixed(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit()) && value.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Returns how many bits each character of a value tells.
fn entropy(value: &str) -> f64 {
    let mut counts = [0u32; 256];
    value.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let all = value.len() as f64;
    let bits = |count: u32| {
        let share = f64::from(count) / all;
        -share * share.log2()
    };
    counts.into_iter().filter(|count| *count > 0).map(bits).sum()
}

/// Returns the most that a value of this length can tell.
fn longest_entropy(value: &str) -> f64 {
    (value.len().max(1) as f64).log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what(text: &str) -> Vec<&'static str> {
        Secrets::default().in_source(text).into_iter().map(|sighting| sighting.what).collect()
    }

    /// Tokens are put together here, so that none stands in this file.
    fn random(start: &str, length: usize) -> String {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        let mut state = 88_172_645_463_325_252_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            char::from(LETTERS[(state % LETTERS.len() as u64) as usize])
        };
        format!("{start}{}", (0..length).map(|_| next()).collect::<String>())
    }

    #[test]
    fn real_looking_secrets_are_found_by_kind() {
        for (text, expected) in [
            (format!("token = \"{}\"", random("ghp_", 36)), "a GitHub token"),
            (
                format!("export KEY={}", random("AKIA", 60).to_uppercase().get(..20).unwrap()),
                "an AWS access key",
            ),
            (format!("//registry/:_authToken={}", random("npm_", 36)), "an npm token"),
            (format!("url = \"https://ann:{}@git.acme.dev/x\"", random("", 16)), "a password in an address"),
            (format!("AWS_SECRET_ACCESS_KEY={}", random("", 40)), "a value that its name calls a secret"),
            (format!("  \"apiKey\": \"{}\",", random("", 32)), "a value that its name calls a secret"),
            (format!("curl -H 'Authorization: Bearer {}'", random("", 40)), "a login in a header"),
        ] {
            assert_eq!(what(&text), [expected], "{text}");
        }
        let key = format!(
            "-----BEGIN RSA PRIVATE KEY-----\n{}\n{}\n-----END RSA PRIVATE KEY-----\n",
            random("", 64),
            random("x", 63)
        );
        assert_eq!(what(&key), ["a private key"]);
        let known = Secrets::of(["hunter2hunter2"]);
        assert_eq!(
            known.in_source("x\npassword is hunter2hunter2\n").first().map(|found| found.line),
            Some(2)
        );
    }

    #[test]
    fn examples_hashes_and_names_are_no_secrets() {
        for text in [
            "aws_access_key_id = \"AKIAIOSFODNN7EXAMPLE\"",
            "aws_secret_access_key = \"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\"",
            "token = \"ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"",
            "token = \"ghp_0123456789abcdefghijABCDEFGHIJ012345\"",
            "DATABASE_URL=postgres://user:pa55word99@localhost:5432/app",
            "https://user:password@example.com/",
            "password = os.environ[\"PASSWORD_2_OF_THE_DATABASE\"]",
            "api_key = settings.get(\"service_api_key_v2\")",
            "integrity sha512-Q2kRbYvfvF3pNUj1nLk4bN5w6v7x8y9z0A1B2C3D4E5F6G7H8I9J0K1L2M3N4O5P6Q7R8S9T0U1V2W3X4Y5Z6==",
            "checksum = \"8f14e45fceea167a5a36dedd4bea2543b1f7d8b4a6c1e0f9d2b3a4c5d6e7f8091\"",
            "key: 123e4567-e89b-12d3-a456-426614174000",
            "SECRET_KEY = \"django-insecure-example-key-for-tests-0001\"",
            "const tokenKey = 'auth.token.storage.key.v2';",
            "token: ${{ secrets.GITHUB_TOKEN }}",
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
            "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
            "if (passwordStrength >= minimumPasswordStrength2) {",
            "let password: String = generate_password(16, Alphabet::Base64Url);",
            "Authorization: Bearer <token>",
            "    pub pat: nl80211_pattern_support,",
            "exports.SOCKS5_NO_ACCEPTABLE_AUTH = SOCKS5_NO_ACCEPTABLE_AUTH;",
            "» token: „größer“",
            "// the user’s password = \"…\"",
        ] {
            assert_eq!(what(text), [""; 0], "{text}");
        }
    }
}
