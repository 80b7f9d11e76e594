//! A shell command, of any text: it is judged, soon, without a panic; and not at all if it is too long.
#![no_main]

use std::{path::Path, sync::LazyLock};

use fuzz::soon;
use libfuzzer_sys::fuzz_target;
use shell::{Judgement, Protected, Scene};

/// The longest command that is read, in bytes.
const LONGEST: usize = 32 * 1024;

static PROTECTED: LazyLock<Vec<Protected>> = LazyLock::new(|| {
    let protected = |path: &str| Protected { path: path.into(), instead: "use warp".to_owned() };
    [".claude/settings.json", ".warp/workflows", ".git", "/home/ada/.codex"].map(protected).into()
});

fuzz_target!(|text: &str| {
    let scene = Scene {
        root: Path::new("/home/ada/demo"),
        cwd: Path::new("/home/ada/demo/src"),
        home: Some(Path::new("/home/ada")),
        protected: &PROTECTED,
        repository: &|_| None,
    };
    match soon(|| shell::judge(text, &scene)) {
        Judgement::Denied(reason) | Judgement::Risky(reason) => assert!(!reason.is_empty()),
        Judgement::Allowed | Judgement::Commit => {}
    }
    let long = text.repeat((LONGEST / text.len().max(1)) + 1);
    // The text of a here-document does not count.
    if long.len() > LONGEST && !long.contains("<<") {
        let judged = soon(|| shell::judge(&long, &scene));
        assert!(matches!(judged, Judgement::Denied(_)), "a command of {} bytes: {judged:?}", long.len());
    }
});
