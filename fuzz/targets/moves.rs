//! What git writes to `reference-transaction`. Without leave, no ref of the repository is moved by an agent's git.
#![no_main]

use std::sync::LazyLock;

use fuzz::scene::{COMMIT, REFS, Scene};
use libfuzzer_sys::fuzz_target;
use project::rails::guard::{self, Verdict};

static BUSY: LazyLock<Scene> = LazyLock::new(|| {
    let scene = Scene::busy();
    scene.enter();
    scene
});

const HOOK: &str = "reference-transaction";

fuzz_target!(|input: &[u8]| {
    let known: String = REFS.iter().map(|name| format!("ref {name} {COMMIT}\n")).collect();
    BUSY.write(".git/warp/refs", &format!("warp-refs 1\nhead ref:refs/heads/main\n{known}end\n"));
    for state in ["committed", "aborted", "next-year"] {
        assert_eq!(guard::answer(HOOK, &[state], input), Verdict::Pass, "{state}: git has done it already");
    }
    if let Verdict::Refuse(reason) = guard::answer(HOOK, &["prepared"], input) {
        return assert!(!reason.is_empty());
    }
    for line in input.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok()) {
        let [_, new, name] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else { continue };
        assert!(!name.starts_with("refs/warp/"), "{line:?} passes");
        assert!(!REFS.contains(&name) || new == COMMIT, "{line:?} passes");
        let stays = new.strip_prefix("ref:").is_some_and(|to| to == REFS[0] || !REFS.contains(&to));
        assert!(name != "HEAD" || stays || new == COMMIT, "{line:?} passes");
    }
});
