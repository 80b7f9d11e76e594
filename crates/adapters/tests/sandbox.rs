//! What is behind walls cannot reach out, and does not outlive them.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use adapters::{
    process::{
        Bounds, Control, End, Environment, Job, Limits, ProgramEvent, ProgramResult, Signal, SignalTarget,
        bounds_in_force, follow,
    },
    sandbox::{Sandbox, SandboxUser, Walls},
};
use testkit::{
    agents::skip,
    processes::{has_begun, is_gone, is_running, mark},
};

const LONG: Duration = Duration::from_secs(60);

/// A home with keys and a login, warp's state with a journal, and a slot in it.
struct World {
    directory: tempfile::TempDir,
    walls: Walls,
}

impl World {
    fn or_skip() -> Option<Self> {
        let sandbox = match Sandbox::find() {
            Ok(sandbox) => sandbox,
            Err(why) => {
                skip(&why.to_string());
                return None;
            }
        };
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        let write = |path: &str, text: &str| {
            let path = base.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("home/.ssh/id_ed25519", "KEY");
        write("home/.config/gh/hosts.yml", "TOKEN");
        write("home/.config/tool/settings", "harmless");
        write("home/.npmrc", "TOKEN");
        write("home/.cargo/credentials.toml", "TOKEN");
        write("home/.cargo/config.toml", "harmless");
        write("home/.claude/settings.json", "{}");
        write("home/.claude/.credentials.json", "LOGIN");
        write("home/.claude/history.jsonl", "SECRET");
        write("home/.claude.json", "{\"login\":1}");
        write("home/state/warp/projects/p/journal.db", "JOURNAL");
        write("home/state/warp/projects/p/slots/1/tree/a.txt", "one\n");
        write("outside.txt", "outside");
        let slot = base.join("home/state/warp/projects/p/slots/1");
        let git = |arguments: &[&str]| {
            let done = Command::new("git")
                .args(arguments)
                .current_dir(slot.join("tree"))
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .env("GIT_CONFIG_NOSYSTEM", "1")
                .output()
                .unwrap();
            assert!(done.status.success(), "{done:?}");
        };
        git(&["init", "--quiet", "--separate-git-dir", "../git"]);
        git(&["add", "a.txt"]);
        git(&["-c", "user.name=T", "-c", "user.email=t@localhost", "commit", "--quiet", "-m", "begin"]);
        let mut walls =
            sandbox.walls(&slot.join("tree"), &base.join("home"), &base.join("home/state/warp/kept"));
        walls.git_dir = Some(slot.join("git"));
        walls.hidden = vec![base.join("home/state/warp")];
        walls.logins = vec!["claude".to_owned()];
        Some(Self { directory, walls })
    }

    fn base(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    fn run(&self, who: SandboxUser, script: &str) -> (String, ProgramResult) {
        self.follow(who, script, Limits { whole: LONG, silence: LONG }, &mut |_| Control::On)
    }

    fn follow(
        &self,
        who: SandboxUser,
        script: &str,
        limits: Limits,
        watch: &mut dyn FnMut(ProgramEvent<'_>) -> Control,
    ) -> (String, ProgramResult) {
        let (program, arguments) = self.walls.wrap(who, "sh".as_ref(), ["-c".into(), script.into()]).unwrap();
        let environment = vec![
            ("PATH".into(), std::env::var_os("PATH").unwrap()),
            ("HOME".into(), self.base().join("home").into()),
            ("BASE".into(), self.base().into()),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ];
        let job = Job {
            program,
            arguments,
            directory: Path::new("/"),
            environment: Environment::Exactly(environment),
            input: Vec::new(),
            limits,
            ladder: &[(Signal::TERM, Duration::from_secs(5))],
            reach: SignalTarget::Within(self.walls.bounds),
            mark: "walls",
        };
        let followed = follow(job, watch).unwrap();
        let text = String::from_utf8_lossy(&followed.stdout).into_owned()
            + &String::from_utf8_lossy(&followed.stderr);
        (text, followed)
    }
}

#[test]
fn the_tree_can_be_written_and_git_can_look() {
    let Some(world) = World::or_skip() else { return };
    let (text, followed) = world.run(
        SandboxUser::Content,
        "echo two >> a.txt && git status --short && git diff --stat | head -1 && pwd",
    );
    assert_eq!(followed.end, End::Exit(0), "{text}");
    assert!(text.contains(" M a.txt") && text.contains("a.txt | 1 +"), "{text}");
    assert_eq!(fs::read_to_string(world.walls.tree.join("a.txt")).unwrap(), "one\ntwo\n");
}

#[test]
fn nothing_outside_can_be_written() {
    let Some(world) = World::or_skip() else { return };
    let script = "
        echo x > $BASE/outside.txt; echo x > /etc/warp-test; echo x > /usr/warp-test
        echo x > $HOME/.claude/settings.json; echo x > $HOME/.config/tool/settings
        echo x > /tmp/private; echo x > $HOME/private
        mount -o remount,rw / && echo REMOUNTED; true";
    let (text, followed) = world.run(SandboxUser::Agent, script);
    assert_eq!(followed.end, End::Exit(0), "{text}");
    assert!(!text.contains("REMOUNTED"), "{text}");
    assert_eq!(fs::read_to_string(world.base().join("outside.txt")).unwrap(), "outside");
    assert_eq!(fs::read_to_string(world.base().join("home/.claude/settings.json")).unwrap(), "{}");
    assert_eq!(fs::read_to_string(world.base().join("home/.config/tool/settings")).unwrap(), "harmless");
    for path in ["/etc/warp-test", "/usr/warp-test", "/tmp/private"] {
        assert!(!Path::new(path).exists(), "{path}");
    }
    assert!(!world.base().join("home/private").exists());
}

#[test]
fn git_cannot_be_deleted_nor_planted_in() {
    let Some(world) = World::or_skip() else { return };
    let git = world.walls.git_dir.clone().unwrap();
    let script = "
        rm -rf .git; mv .git elsewhere; git config core.fsmonitor 'touch /tmp/owned'
        git config core.hooksPath /tmp; rm -rf ../git; printf '#!/bin/sh' > ../git/hooks/pre-commit
        echo x >> ../git/config; git commit --allow-empty -m no; git update-ref refs/heads/x HEAD; true";
    let before = fs::read_to_string(git.join("config")).unwrap();
    let (text, _) = world.run(SandboxUser::Agent, script);
    assert_eq!(fs::read_to_string(git.join("config")).unwrap(), before, "{text}");
    assert!(!git.join("hooks/pre-commit").exists() && !git.join("refs/heads/x").exists(), "{text}");
    assert!(world.walls.tree.join(".git").is_file() && git.join("objects").is_dir(), "{text}");
}

#[test]
fn keys_tokens_and_the_journal_are_not_there() {
    let Some(world) = World::or_skip() else { return };
    let script = "
        cat $HOME/.ssh/* $HOME/.config/gh/* $HOME/.npmrc $HOME/.cargo/credentials.toml $HOME/.claude/history.jsonl
        cat $HOME/state/warp/projects/p/journal.db; ls -A $HOME/state/warp/projects/p
        cat $HOME/.cargo/config.toml; ls /proc | grep -c '^[0-9]'";
    for who in [SandboxUser::Agent, SandboxUser::Content] {
        let (text, _) = world.run(who, script);
        for secret in ["KEY", "TOKEN", "SECRET", "JOURNAL"] {
            assert!(!text.contains(secret), "{who:?} {text}");
        }
        assert!(text.contains("harmless") && text.contains("slots"), "{text}");
    }
}

#[test]
fn of_the_home_there_is_only_what_is_named() {
    let Some(mut world) = World::or_skip() else { return };
    let home = world.base().join("home");
    let write = |path: &str, text: &str| {
        fs::create_dir_all(home.join(path).parent().unwrap()).unwrap();
        fs::write(home.join(path), text).unwrap();
    };
    write("notes-with-password.txt", "SECRET");
    write(".env", "SECRET");
    write("documents/letter", "SECRET");
    write(".config/tool/more/key", "SECRET");
    write(".rustup/toolchain", "toolchain\n");
    write(".config/tool/settings", "wanted\n");
    write(".config/tool/hidden", "SECRET");
    write(".config/gh/hosts.yml", "oauth_token: SECRET");
    let script = "cd $HOME; find . -type f -exec cat {} +; cat .env notes-with-password.txt documents/letter";
    for who in [SandboxUser::Agent, SandboxUser::Content] {
        let (text, _) = world.run(who, script);
        assert!(text.contains("toolchain") && !text.contains("SECRET") && !text.contains("wanted"), "{text}");
    }
    world.walls.shown = vec![".config/tool/settings".into(), ".config/gh".into(), "nowhere".into()];
    let (text, _) = world.run(SandboxUser::Agent, script);
    assert!(text.contains("wanted") && !text.contains("SECRET"), "{text}");
    world.walls.shown = vec!["../home/.".into()];
    assert!(world.walls.wrap(SandboxUser::Agent, "true".as_ref(), []).is_err());
}

#[test]
fn what_lies_behind_links_is_shown_where_it_is_asked_for() {
    let Some(world) = World::or_skip() else { return };
    let home = world.base().join("home");
    fs::create_dir_all(home.join("dotfiles/git")).unwrap();
    fs::write(home.join("dotfiles/git/config"), "[user]\n\tname = Linked\n").unwrap();
    fs::write(home.join("dotfiles/secret"), "SECRET").unwrap();
    fs::write(home.join("dotfiles/cargo-credentials"), "SECRET").unwrap();
    fs::write(home.join("dotfiles/gitconfig"), "[user]\n\temail = linked@localhost\n").unwrap();
    fs::create_dir_all(home.join("elsewhere/rustup/bin")).unwrap();
    fs::write(home.join("elsewhere/rustup/bin/tool"), "tool\n").unwrap();
    let link = |to: &str, at: &str| std::os::unix::fs::symlink(to, home.join(at)).unwrap();
    link("../dotfiles/git", ".config/git");
    link("dotfiles/gitconfig", ".gitconfig");
    link("../dotfiles/cargo-credentials", ".cargo/credentials");
    link("elsewhere/rustup", ".rustup");
    let script = "git config user.name; git config user.email; cat $HOME/.rustup/bin/tool
        cat $HOME/dotfiles/secret $HOME/.cargo/credentials; ls -A $HOME/dotfiles";
    let (text, _) = world.run(SandboxUser::Content, script);
    assert!(text.starts_with("Linked\nlinked@localhost\ntool\ngit\ngitconfig\n"), "{text}");
    assert!(!text.contains("SECRET"), "{text}");
}

#[test]
fn settings_that_are_shown_have_lost_their_secrets() {
    let Some(world) = World::or_skip() else { return };
    let home = world.base().join("home");
    let settings = "[user]\n\tname = Ann\n[github]\n\ttoken = SECRET-of-12\n
        [url \"https://ann:SECRET@example.org/\"]\n\tinsteadOf = ex:\n";
    fs::write(home.join(".gitconfig"), settings).unwrap();
    fs::write(home.join(".cargo/config.toml"), "[registries.own]\ntoken = \"SECRET-of-34\"\n").unwrap();
    let git = world.walls.git_dir.clone().unwrap();
    let remote = "\n[remote \"origin\"]\n\turl = https://ann:SECRET@example.org/a.git\n";
    fs::write(git.join("config"), fs::read_to_string(git.join("config")).unwrap() + remote).unwrap();
    let script = "git config user.name; git config --list; cat $HOME/.gitconfig $HOME/.cargo/config.toml";
    let (text, _) = world.run(SandboxUser::Agent, script);
    assert!(text.starts_with("Ann\n") && text.contains("remote.origin.url"), "{text}");
    assert!(text.contains("[registries.own]") && !text.contains("SECRET"), "{text}");
    assert!(fs::read_to_string(home.join(".gitconfig")).unwrap().contains("SECRET"));
}

#[test]
fn a_working_tree_of_another_repository_finds_it() {
    let Some(mut world) = World::or_skip() else { return };
    let code = world.base().join("home/code");
    let git = |directory: &Path, arguments: &[&str]| {
        let who = ["-c", "user.name=T", "-c", "user.email=t@localhost"];
        let mut command = Command::new("git");
        command.args(who).args(arguments).current_dir(directory);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let done = command.output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    fs::create_dir_all(&code).unwrap();
    git(&code, &["init", "--quiet", "first"]);
    git(&code.join("first"), &["commit", "--quiet", "--allow-empty", "-m", "begin"]);
    git(&code, &["clone", "--quiet", "--shared", "first", "second"]);
    fs::write(code.join("second/private"), "SECRET").unwrap();
    let tree = world.base().join("home/state/warp/projects/p/slots/2/tree");
    git(&code.join("second"), &["worktree", "add", "--quiet", "--detach", tree.to_str().unwrap()]);
    world.walls.tree = tree;
    world.walls.git_dir = Some(code.join("second/.git/worktrees/tree"));
    let (text, _) = world
        .run(SandboxUser::Agent, "git log --format=%s; git status --short; cat $HOME/code/second/private");
    assert!(text.starts_with("begin\n") && !text.contains("SECRET") && !text.contains("fatal"), "{text}");
}

#[test]
fn an_agent_has_its_login_and_content_has_none() {
    let Some(world) = World::or_skip() else { return };
    let script = "cat $HOME/.claude/.credentials.json $HOME/.claude.json; echo new > $HOME/.claude.json
        echo kept > $HOME/.claude/projects/t; echo hot > $HOME/.cache/c; true";
    let (text, _) = world.run(SandboxUser::Content, script);
    assert!(!text.contains("LOGIN") && !text.contains("login"), "{text}");
    let (text, _) = world.run(SandboxUser::Agent, script);
    assert!(text.contains("LOGIN") && text.contains("login"), "{text}");
    assert_eq!(fs::read_to_string(world.base().join("home/.claude.json")).unwrap(), "{\"login\":1}");
    assert!(!world.base().join("home/.claude/projects").exists());
    let (text, _) = world.run(SandboxUser::Agent, "cat $HOME/.claude/projects/t $HOME/.cache/c");
    assert_eq!(text, "kept\nhot\n");
}

#[test]
fn a_background_process_ends_with_the_walls_and_signals_reach_within() {
    let Some(world) = World::or_skip() else { return };
    let mark = mark();
    let (_, followed) = world.run(SandboxUser::Agent, &format!("setsid -f env -i sleep {mark}; echo done"));
    assert_eq!(followed.end, End::Exit(0));
    assert!(!is_running(&mark));
    let script = "trap 'echo obeyed; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
    let mut stop =
        |seen: ProgramEvent<'_>| if seen == ProgramEvent::Out("ready") { Control::Stop } else { Control::On };
    let (text, followed) =
        world.follow(SandboxUser::Agent, script, Limits { whole: LONG, silence: LONG }, &mut stop);
    assert!(text.starts_with("ready\nobeyed\n") && followed.end == End::Stopped, "{text} {followed:?}");
}

#[test]
fn a_killed_driver_takes_along_what_is_behind_its_walls() {
    const INSIDE: &str = "WARP_TEST_INSIDE";
    if let Ok(mark) = std::env::var(INSIDE) {
        let Some(world) = World::or_skip() else { return };
        world.run(SandboxUser::Agent, &format!("setsid -f env -i sleep {mark}; sleep {mark}"));
        return;
    }
    if let Err(why) = Sandbox::find() {
        return skip(&why.to_string());
    }
    let (directory, mark) = (tempfile::tempdir().unwrap(), mark());
    let mut driver = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_killed_driver_takes_along_what_is_behind_its_walls"])
        .env(INSIDE, &mark)
        .env("TMPDIR", directory.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let began = has_begun(&mark);
    driver.kill().unwrap();
    driver.wait().unwrap();
    assert!(began && is_gone(&mark));
}

#[test]
fn processes_and_memory_are_bounded_where_the_system_can() {
    let Some(mut world) = World::or_skip() else { return };
    let (memory, processes) = bounds_in_force();
    world.walls.bounds = Bounds { processes: 200, memory: 96 << 20, temporary: 16 << 20, file: 32 << 20 };
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    if processes || !is_root {
        let script = "i=0; while [ $i -lt 300 ]; do sleep 60 & i=$((i + 1)); done; echo all of them";
        let (text, _) = world.run(SandboxUser::Content, script);
        assert!(!text.contains("all of them"), "{text}");
    } else {
        skip("there is no control group for processes here, and the kernel does not hold root to a limit");
    }
    if memory {
        let script = r#"perl -e '$a = "a" x 300_000_000; print "as much as it wants\n"'; echo after"#;
        let (text, _) = world.run(SandboxUser::Content, script);
        assert!(!text.contains("as much as it wants"), "{text}");
    } else {
        skip("there is no control group for memory here");
    }
    let (text, _) = world.run(SandboxUser::Content, "echo still here; ls -d /proc/[0-9]* | wc -l");
    assert!(text.starts_with("still here\n"), "{text}");
}
