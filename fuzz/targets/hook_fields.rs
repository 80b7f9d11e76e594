//! A refused command stays refused, whatever harmless text is around it; and so does a protected file by any detour.
//!
//! The first byte of an input says how many times a command is wrapped, the second which command it is, each after it
//! which wrapper is used; the rest is the text that the wrappers are made with. Nothing but that text is made up, and
//! it only stands where a shell cannot take it for something that would keep the command from being run: after the
//! command, between single quotes, in a comment, in a here-document.
#![no_main]

use std::{path::Path, sync::LazyLock};

use fuzz::{
    scene::{REFUSED, Scene},
    soon,
};
use libfuzzer_sys::fuzz_target;
use serde_json::json;
use shell::{Judgement, Protected};

static BUSY: LazyLock<Scene> = LazyLock::new(Scene::busy);
static PROTECTED: LazyLock<Vec<Protected>> = LazyLock::new(|| {
    let protected = |path: &str| Protected { path: path.into(), instead: "use warp".to_owned() };
    [".claude/settings.json", ".warp/workflows", ".git"].map(protected).into()
});

const MOST_WRAPPERS: usize = 4;
const FILES: [&str; 4] =
    [".claude/settings.json", ".codex/hooks.json", ".warp/workflows/a.toml", ".git/config"];

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn wrapped(wrapper: u8, command: &str, text: &str) -> String {
    let line = text.replace(['\n', '\r'], " ");
    match wrapper % 20 {
        0 => format!("true && {command}"),
        1 => format!("{command}; {text}"),
        2 => format!("( {command} )"),
        3 => format!("{command} | cat"),
        4 => format!("{command} && {text}"),
        5 => format!("echo {}; {command}", quoted(text)),
        6 => format!("# {line}\n{command}"),
        7 => format!("cat <<'END OF TEXT'\n{}\nEND OF TEXT\n{command}", text.replace("END OF TEXT", "")),
        8 => format!("NOTE={} {command}", quoted(text)),
        9 => format!("if true; then {command}; fi"),
        10 => format!("sh -c {}", quoted(command)),
        11 => format!("eval {}", quoted(command)),
        12 => format!("{{ {command}\n}}"),
        13 => format!("{command}\n{text}"),
        14 => format!("for word in {} b; do {command}; done", quoted(text)),
        // A second parenthesis at once would begin arithmetic.
        15 => format!("echo \"$( {command} )\""),
        16 => format!("{command} | {text}"),
        17 => format!("{command} & {text}"),
        18 => format!("printf '%s' {} | grep a || {command}", quoted(text)),
        _ => format!("test {} = a; {command}", quoted(text)),
    }
}

/// Wraps a refused command as the input says.
fn command(input: &[u8]) -> Option<(String, String)> {
    let (count, rest) = input.split_first()?;
    let (which, rest) = rest.split_first()?;
    let (wrappers, text) = rest.split_at_checked(usize::from(*count) % (MOST_WRAPPERS + 1))?;
    let text = String::from_utf8_lossy(text).into_owned();
    let refused = REFUSED[usize::from(*which) % REFUSED.len()].to_owned();
    Some((wrappers.iter().fold(refused, |command, wrapper| wrapped(*wrapper, &command, &text)), text))
}

fuzz_target!(|input: &[u8]| {
    let Some((command, text)) = command(input) else { return };
    let scene = shell::Scene {
        root: Path::new("/home/ada/demo"),
        cwd: Path::new("/home/ada/demo"),
        home: Some(Path::new("/home/ada")),
        protected: &PROTECTED,
        repository: &|_| None,
    };
    match soon(|| shell::judge(&command, &scene)) {
        Judgement::Denied(reason) => assert!(!reason.is_empty()),
        Judgement::Commit => assert!(command.contains("git commit"), "{command:?} needs no more than leave"),
        Judgement::Allowed | Judgement::Risky(_) => panic!("{command:?} is let through"),
    }
    // One step that leads nowhere, there and back.
    let step = text.replace(['/', '\0'], "");
    let detour = if ["", ".", ".."].contains(&step.as_str()) { String::new() } else { format!("{step}/../") };
    for file in FILES {
        let tool = json!({ "file_path": format!("./{detour}{file}"), "content": text });
        let hook = json!({ "cwd": BUSY.root(), "tool_name": "Write", "tool_input": tool });
        let answer = hooks::answer("pre-tool-use", hook.to_string().as_bytes(), &hooks::NoAwayChannel);
        assert_eq!(answer.code, 2, "{tool} is let through");
    }
    let patch = format!("*** Begin Patch\n*** Add File: a\n+{text}\n*** Delete File: {detour}{}\n", FILES[0]);
    if !detour.contains(['\n', '\r']) {
        let tool = json!({ "command": patch });
        let hook = json!({ "cwd": BUSY.root(), "tool_name": "apply_patch", "tool_input": tool });
        assert_eq!(
            hooks::answer("pre-tool-use", hook.to_string().as_bytes(), &hooks::NoAwayChannel).code,
            2,
            "{patch:?} is let through"
        );
    }
});
