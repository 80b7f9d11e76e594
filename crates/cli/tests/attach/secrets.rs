//! An agent in a terminal that tells a secret: nobody is shown it, and nothing keeps it.

use std::{fs, path::Path};

use super::support::{Attached, is_skipped};

/// A secret that warp knows by the name of its variable, and the same as it stands in the tree.
const CANARY: &str = "canary-of-terminal-1";
const CODED: &str = "Y2FuYXJ5LW9mLXRlcm1pbmFsLTE=";

/// Returns the files below a directory that hold the secret.
fn with_canary(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(with_canary(&entry.path()));
        } else if kind.is_file() {
            let bytes = fs::read(entry.path()).unwrap();
            if bytes.windows(CANARY.len()).any(|part| part == CANARY.as_bytes()) {
                found.push(entry.path().display().to_string());
            }
        }
    }
    found
}

#[test]
fn a_secret_that_an_agent_tells_is_neither_shown_nor_kept() {
    if is_skipped() {
        return;
    }
    // The first ends by itself, with a secret that its terminal breaks over two lines; the second asks with one.
    let mut attached = Attached::new(&format!(
        r#"
told=$(echo {CODED} | base64 -d)
heard 'Neither commit nor push'
if [ ! -e began ]; then
  touch began
  clear
  printf "%0$(($(tput cols) - 5))d%s\n" 0 "$told"
  exit 3
fi
printf 'PHASE:needs_human\nReason: May I use %s?\n' "$told" > "$PHASE_FILE"
heard 'never'
"#
    ));
    attached.environment = vec![("GH_TOKEN".to_owned(), CANARY.to_owned())];
    attached.start(&[]);
    let warned = attached.until("a crash", |line| line["text"].to_string().contains("exited on its own"));
    assert!(warned.to_string().contains("0[secret removed]"), "{warned}");
    let asked = attached.asked();
    assert!(asked["question"].to_string().contains("May I use [secret removed]?"), "{asked}");
    attached.driven.sandbox.warp_ok(&["stop", "42"]);
    assert_eq!(attached.end(), Some(0));
    assert!(!attached.said().contains(CANARY), "{}", attached.said());
    assert_eq!(with_canary(&attached.driven.sandbox.home().join("state")), [""; 0]);
}
