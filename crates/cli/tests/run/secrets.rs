//! Secrets of the person's: no agent sees one, and one that was told all of them leaves none in any record.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use super::support::{GOOD, Project, Running, has_walls};
use crate::support::{Ends as _, InProject as _};

/// A word that every secret of this test holds.
const CANARY: &str = "canary";
/// Secrets that warp can know, by the name of a variable and by where forges keep theirs.
const KNOWN: [&str; 3] = ["canary-of-environment-1", "canary-of-gh-2", "canary-of-netrc-3"];
const KEY: &str =
    "-----BEGIN OPENSSH PRIVATE KEY-----\ncanary4canary4canary4\n-----END OPENSSH PRIVATE KEY-----\n";

/// An agent that looks at all it can reach, and then tells everybody what somebody has told it.
const AGENT: &str = r#"
cat > .prompt
{ env; cat ~/.config/gh/hosts.yml ~/.netrc ~/secret.txt ~/.env ~/.ssh/*; find ~ -type f -exec cat {} +; } > .seen 2>&1
told=$(base64 -d told.b64)
echo "it says $told"; echo "it complains of $told" >&2
base64 -d key.b64
if ! grep -q 'Decided: yes' .prompt; then
    echo '{"summary":"","question":{"kind":"scope","text":"May I use '"$told"'?","options":["yes","not '"${told%% *}"'"]}}'
    exit
fi
rm .prompt; mv .seen seen.txt
if test "$WARP_CYCLE" = 0; then touch broken; else rm -f broken; fi
printf 'hello\nworld\n' > greeting.txt
echo '{"summary":"I used '"$told"'","evidence":[{"ac":"AC-01","file":"greeting.txt","line":1},{"ac":"AC-02","file":"greeting.txt","line":2}],'
echo '"commit":{"type":"feat","subject":"use '"${told%% *}"'"},"lessons":[{"title":"of '"$told"'","text":"'"$told"'"}],'
echo '"risks":[{"title":"risk '"$told"'","text":"https://ann:'"${told%% *}"'@example.org"}]}'
"#;

/// A project whose tests tell what they were told, in a home full of secrets.
fn project() -> Project {
    let project = Project::new("");
    let sandbox = &project.sandbox;
    let encoded = |text: &str| {
        let file = sandbox.home().join("plain");
        fs::write(&file, text).unwrap();
        let coded = sandbox.command("base64").arg(&file).output().unwrap().stdout;
        fs::remove_file(file).unwrap();
        coded
    };
    sandbox.write("told.b64", encoded(&KNOWN.join(" ")));
    sandbox.write("key.b64", encoded(KEY));
    sandbox.write("test.sh", "base64 -d told.b64; base64 -d key.b64 >&2; test ! -e broken\n");
    sandbox.commit("chore: talkative tests");
    let write = |path: &str, text: &str| {
        let path = sandbox.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("agent.sh", AGENT);
    write(".config/gh/hosts.yml", &format!("github.com:\n    oauth_token: {}\n", KNOWN[1]));
    write(".netrc", &format!("machine example.org login ann password {}\n", KNOWN[2]));
    write(".ssh/id_ed25519", KEY);
    write("secret.txt", "canary-of-home-5\n");
    write(".env", "TOKEN=canary-of-env-6\n");
    project
}

/// Returns the files below a directory that hold a canary.
fn with_canary(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(with_canary(&entry.path()));
        } else if kind.is_file() && has_canary(&fs::read(entry.path()).unwrap()) {
            found.push(entry.path().display().to_string());
        }
    }
    found
}

fn has_canary(bytes: &[u8]) -> bool {
    bytes.windows(CANARY.len()).any(|part| part == CANARY.as_bytes())
}

#[test]
fn no_secret_is_seen_by_an_agent_or_left_in_any_record() {
    if !has_walls() {
        return;
    }
    for (more, asked) in [(None, "answer with"), (Some("--json"), r#""type":"asked""#)] {
        let project = project();
        let sandbox = &project.sandbox;
        let agent = format!("command:sh {}", sandbox.home().join("agent.sh").display());
        let mut command = sandbox.warp_command(&["run", "1", "--level", "2", "--once", "--agent", &agent]);
        // Variables of a machine may look like secrets, and are not what this is about.
        command.args(["--set", "commit_guard=false"]);
        command.args(more).env("GH_TOKEN", KNOWN[0]).env("ACME_THING", "canary-of-odd-name-7");
        let mut running = Running::start(command);
        running.until(asked);
        let (id, question) = project.question();
        assert_eq!(question, "May I use [secret removed] [secret removed] [secret removed]?");
        sandbox.warp_ok(&["answer", &id, "yes"]);
        let ended = running.end().ends(0);
        assert!(!ended.said.contains(CANARY) && ended.said.contains("[secret removed]"), "{}", ended.said);

        let seen = sandbox.git(&["show", "feature/issue-1-a-greeting:seen.txt"]);
        assert!(seen.contains("WARP_ISSUE=1") && !seen.contains(CANARY), "{seen}");
        assert_eq!(project.count("tests_failed"), 1);
        for command in [&["log", "1", "--json"][..], &["log", "1"], &["status", "1"], &["pr", "list"]] {
            let said = sandbox.warp_ok(command);
            assert!(!said.contains(CANARY), "{command:?}: {said}");
        }
        let mut texts = String::new();
        for number in 1..=9 {
            for kind in ["issue", "pr"] {
                texts.push_str(&sandbox.warp(&[kind, "show", &number.to_string()]).out);
            }
        }
        assert!(
            texts.contains("I used [secret removed]") && texts.contains("risk [secret removed]"),
            "{texts}"
        );
        assert!(!texts.contains(CANARY), "{texts}");
        assert_eq!(with_canary(&sandbox.home().join("state")), [""; 0]);
        assert_eq!(with_canary(&sandbox.root()), [""; 0]);
    }
}

/// A project whose tests read a file of the home.
fn needs_data() -> Project {
    let project = Project::new(GOOD);
    let sandbox = &project.sandbox;
    fs::create_dir_all(sandbox.home().join("data/small")).unwrap();
    fs::write(sandbox.home().join("data/small/set"), "data").unwrap();
    sandbox.write("test.sh", "grep data \"$HOME/data/small/set\"\n");
    sandbox.git(&["commit", "--quiet", "--all", "-m", "chore: tests with data"]);
    project
}

#[test]
fn what_a_person_wants_shown_of_the_home_is_shown_and_a_project_wants_nothing() {
    if !has_walls() {
        return;
    }
    let project = needs_data();
    let ended = project.run(&["--set", "max_coding_cycles=1", "--set", "decision_timeout_minutes=0"]);
    assert!(ended.code != Some(0) && project.count("tests_passed") == 0, "{}", ended.said);

    let project = needs_data();
    let sandbox = &project.sandbox;
    project.run(&["--set", "sandbox_show=.config/none:data/small"]).ends(0);

    sandbox.write("warp.toml", "[workflow]\nsandbox_show = \"data\"\n");
    sandbox.git(&["add", "warp.toml"]);
    sandbox.git(&["commit", "--quiet", "-m", "chore: ask for more"]);
    let said = sandbox.warp(&["config"]);
    assert!(said.code != Some(0) && said.err.contains("yours to set, not a project's"), "{said:?}");
}

#[test]
fn programs_in_path_are_there_with_what_belongs_to_them() {
    if !has_walls() {
        return;
    }
    let project = Project::new(GOOD);
    let sandbox = &project.sandbox;
    let tools = sandbox.home().join("tools");
    for directory in ["kit/bin", "kit/share"] {
        fs::create_dir_all(tools.join(directory)).unwrap();
    }
    fs::write(tools.join("kit/share/words"), "shared words").unwrap();
    fs::write(tools.join("kit/private"), "private").unwrap();
    let tool = tools.join("kit/bin/warp-test-tool");
    fs::write(&tool, "#!/bin/sh\ncat \"$(dirname \"$0\")/../share/words\"\n").unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.write(
        "test.sh",
        "warp-test-tool | grep shared && ! test -e ~/tools/kit/private && ! test -e ~/script.toml\n",
    );
    sandbox.git(&["commit", "--quiet", "--all", "-m", "chore: tests with a tool"]);
    let mut path = tools.join("kit/bin").into_os_string();
    path.push(":");
    // The home itself and all of its settings are no programs, whatever `PATH` says.
    path.push(sandbox.home());
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    let mut command = project.command(&[]);
    command.env("PATH", path);
    Running::start(command).end().ends(0);
}
