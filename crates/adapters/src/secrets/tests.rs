//! What is taken out of texts, and what is left in them.

use proptest::prelude::*;

use super::*;

fn none() -> Secrets {
    Secrets::default()
}

/// What a text becomes for somebody who knows no value.
fn looked(text: &str) -> String {
    none().redact(text).into_owned()
}

#[test]
fn a_value_is_removed_in_every_spelling() {
    let secrets = Secrets::of(["s3cret/\"word\"", "short", "postgres"]);
    let texts = [
        r#"a s3cret/"word" b"#,
        r#"{"a":"s3cret/\"word\""}"#,
        "https://h/?t=s3cret%2F%22word%22",
        "https://h/?t=s3cret%2f%22word%22",
    ];
    for text in texts {
        let clean = secrets.redact(text);
        assert!(clean.contains(REMOVED) && !clean.contains("s3cret"), "{clean}");
    }
    assert_eq!(secrets.redact("short postgres"), "short postgres");
}

#[test]
fn what_a_cut_has_left_of_a_value_is_removed() {
    let secrets = Secrets::of(["0123456789abcdef-token"]);
    assert_eq!(secrets.redact("89abcdef-token and more"), "[secret removed] and more");
    assert_eq!(secrets.redact("it is 0123456789ab…"), "it is [secret removed]…");
    assert_eq!(secrets.redact("it is 0123…"), "it is [secret removed]…");
    assert_eq!(secrets.redact("-token and 01234"), "-token and 01234");
}

#[test]
fn the_lines_of_a_key_are_removed_one_by_one() {
    let mut lines = Lines::default();
    let text = "key:\n-----BEGIN PRIVATE KEY-----\nMIIE+aB/\n\n-----END PRIVATE KEY-----\nMIIE is not one";
    let clean: Vec<String> = text.lines().map(|line| lines.redacted(line.to_owned())).collect();
    assert_eq!(clean, ["key:", REMOVED, REMOVED, REMOVED, REMOVED, "MIIE is not one"]);
    let begun = ["-----BEGIN RSA PRIVATE KEY-----", "MIIE", "it \"stops\"", "MIIE"];
    let clean: Vec<String> = begun.iter().map(|line| lines.redacted((*line).to_owned())).collect();
    assert_eq!(clean, [REMOVED, REMOVED, "it \"stops\"", "MIIE"]);
}

#[test]
fn the_lines_of_a_value_are_removed_one_by_one() {
    let secrets = Secrets::of(["-- begin --\nabcdefghijklmnopqrstuvwxyz\n-- end --"]);
    assert_eq!(secrets.redact("got abcdefghijklmnopqrstuvwxyz"), "got [secret removed]");
}

#[test]
fn well_known_tokens_are_removed_by_their_looks() {
    let long = "aB3".repeat(20);
    let tokens = [
        format!("sk-ant-api03-{long}"),
        format!("sk-proj-{long}"),
        format!("sk-{long}"),
        format!("ghp_{}", &long[..36]),
        format!("gho_{}", &long[..36]),
        format!("github_pat_{}_{}", &long[..22], &long[..30]),
        format!("glpat-{}", &long[..20]),
        "xoxb-123456789012-abcdefABCDEF".to_owned(),
        "AKIAIOSFODNN7EXAMPLE".to_owned(),
        format!("AIza{}", &long[..35]),
        format!("npm_{}", &long[..36]),
        format!("pypi-{long}"),
        format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{long}"),
    ];
    for token in tokens {
        for text in [format!("a {token} b"), format!("t={token}"), format!(r#"{{"out":"line\n{token}\n"}}"#)]
        {
            let clean = looked(&text);
            assert!(clean.contains(REMOVED) && !clean.contains(&token[4..]), "{clean}");
        }
        assert_eq!(looked(&token), REMOVED);
    }
}

#[test]
fn keys_headers_and_addresses_lose_what_is_secret() {
    let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\nAAAA=\n-----END OPENSSH PRIVATE KEY-----";
    assert_eq!(looked(&format!("a\n{key}\nb")), "a\n[secret removed]\nb");
    assert_eq!(looked(&key.replace('\n', "\\n")), REMOVED);
    assert_eq!(looked("\"-----BEGIN PRIVATE KEY-----\\nMIIE\", x"), "\"[secret removed]\", x");
    assert_eq!(looked("Authorization: Bearer abc123def"), "Authorization: Bearer [secret removed]");
    assert_eq!(looked("-H 'authorization: token 0a1b2c3d4e'"), "-H 'authorization: token [secret removed]'");
    assert_eq!(looked("https://ann:pa55@example.org/x"), "https://[secret removed]@example.org/x");
    assert_eq!(looked("https://0123456789abcdef0123@example.org"), "https://[secret removed]@example.org");
}

#[test]
fn what_only_resembles_a_secret_stays() {
    for text in [
        "task-force-with-a-very-long-name-that-goes-on-2024-01-02",
        "sk-learn-is-a-library-of-many-words-and-2024-releases",
        "npm_config_registry npm_package_dependencies_something_long_here",
        "ssh://git@example.org/a.git https://example.org:8080/@scope/pkg",
        "postgres://user:$PASSWORD@localhost http://<user>:<password>@host",
        "Authorization: required for all of it; use a Bearer token",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "4f1c9a0b4f1c9a0b4f1c9a0b4f1c9a0b4f1c9a0b sha512-abcDEF0123456789abcDEF0123456789==",
        "test secrets::a_token_is_refused ... ok",
        "[secret removed] and [secret removed]",
    ] {
        assert_eq!(looked(text), text);
    }
}

#[test]
fn a_file_of_settings_loses_what_it_names() {
    let text =
        "[user]\n\tname = Ann\n[github]\n\ttoken = 0a1b2c3d4e5f\n[registry]\ntoken = \"cio-aBcD1234\"\n";
    let clean = redact_settings(text).into_owned();
    assert!(clean.contains("name = Ann") && clean.contains("token = [secret removed]"), "{clean}");
    assert!(!clean.contains("0a1b2c3d4e5f") && !clean.contains("aBcD1234"), "{clean}");
}

#[test]
fn texts_of_a_table_are_redacted_names_included() {
    let token = format!("ghp_{}", "a1".repeat(18));
    let mut fields = Map::new();
    fields.insert(token.clone(), Value::from(vec![token.clone(), "b".to_owned()]));
    redact_fields(&mut fields);
    assert_eq!(Value::Object(fields).to_string(), format!(r#"{{"{REMOVED}":["{REMOVED}","b"]}}"#));
}

#[test]
fn long_texts_of_beginnings_are_read_in_one_go() {
    for part in
        ["sk-", "eyJ.", "://a:", "-----BEGIN PRIVATE KEY", "authorization:", "glpat-", "bearer ", "eyJa-"]
    {
        let text = part.repeat(20_000);
        assert_eq!(looked(&looked(&text)), looked(&text));
    }
}

/// Pieces of texts that have to do with secrets, and some that have not.
fn piece() -> impl Strategy<Value = String> {
    let known = [
        "canary-value-1",
        "canary",
        "-value-1",
        "[secret removed]",
        "[secret ",
        "removed]",
        "sk-ant-",
        "sk-",
        "ghp_",
        "AKIA",
        "AIza",
        "eyJ",
        ".",
        "-----BEGIN ",
        "RSA PRIVATE KEY-----",
        "-----END ",
        "://",
        ":",
        "@",
        "Authorization: ",
        "Bearer ",
        "\\n",
        "n",
        "\n",
        " ",
        "…",
        "é",
        "aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3",
        "0123456789ABCDEF",
    ];
    prop_oneof![3 => prop::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => ".{0,3}"]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..24).prop_map(|pieces| pieces.concat())
}

#[test]
fn a_token_with_something_invisible_in_it_is_removed() {
    let token = format!("ghp_{}", "aB3".repeat(12));
    let (head, tail) = token.split_at(17);
    let invisible = [
        "\x1b[0m",
        "\x1b[1;38;2;255;0;0m",
        "\x1b[01;31m\x1b[K",
        "\x1b[m\x1b[7m\x1b[4:3m",
        "\x1b]8;;https://a.test\x1b\\",
        "\x1b]0;title\x07",
        "\x1b(B",
        "\u{9b}32m",
        "\u{200b}",
        "\u{202e}\u{2066}",
        "\u{feff}",
        "\0",
        "\x08",
        "\u{ad}",
        "\\u001b[31m",
        "\\x1b[31m",
        "\\033[0;1m",
        "\\e[0m",
    ];
    for between in invisible {
        let text = format!("it is {head}{between}{tail}, isn't it");
        assert_eq!(looked(&text), "it is [secret removed], isn't it", "{between:?}");
        let secrets = Secrets::of(["hunter2-hunter2"]);
        let text = format!("hun{between}ter2-hunter{between}2");
        assert_eq!(secrets.redact(&text), REMOVED, "{between:?}");
        // Between every two characters, and around.
        let spread: String = token.chars().map(|c| format!("{between}{c}")).collect();
        let clean = looked(&format!("{spread}{between}"));
        assert_eq!(clean, format!("{between}{REMOVED}{between}"), "{between:?}");
    }
    for text in ["\x1b[31merror\x1b[0m: a\u{200b}b", r"C:\new\x1b[ \e", "\x1b[", "\x1b]", "\x1b", "\u{9b}é"]
    {
        assert_eq!(looked(text), text);
    }
}

fn coloured() -> impl Strategy<Value = String> {
    let hidden =
        prop::sample::select(vec!["\x1b[0m", "\u{200b}", "\x1b]0;", "\x07", "\x1b[", "\\e[1m", "\x1b"]);
    let part =
        prop_oneof![hidden.prop_map(str::to_owned), text(), "ghp_[a-zA-Z0-9]{0,30}", "[a-zA-Z0-9]{0,20}"];
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn a_coloured_text_that_was_redacted_stays_and_shows_no_value(text in coloured()) {
        let secrets = Secrets::of(["canary-value-1", "secret removed] and", "1canary-val"]);
        let clean = secrets.redact(&text).into_owned();
        prop_assert_eq!(secrets.redact(&clean), clean.as_str());
        let visible = Visible::of(&clean).map_or(clean.clone(), |visible| visible.text);
        prop_assert!(!visible.contains("canary-value-1"));
    }

    #[test]
    fn a_redacted_text_stays_and_holds_no_value(text in text()) {
        let secrets = Secrets::of(["canary-value-1", "secret removed] and", "1canary-val"]);
        let clean = secrets.redact(&text).into_owned();
        prop_assert_eq!(secrets.redact(&clean), clean.as_str());
        prop_assert!(!clean.contains("canary-value-1"));
    }

    #[test]
    fn a_text_without_a_secret_is_not_touched(text in "([a-z]{1,12}|[A-Z][a-z]{1,9}|[0-9]{1,6}|[0-9a-f]{40}|[ \n\t.,;:!?(){}<>\"'/=+*@#$-]{1,3}| é …){0,40}") {
        // By chance a word, a dash and a digest may be spelled as a token is.
        let beginnings = ["://", "sk-", "pat-", "dt-", "xox", "xapp-", "pypi-"];
        prop_assume!(!beginnings.iter().any(|beginning| text.contains(beginning)));
        prop_assert_eq!(looked(&text), text);
    }
}
