//! A run's tree mounted over the project's own path: what is seen of either.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use adapters::{
    process::{Control, End, Environment, Job, Limits, ProgramResult, Signal, SignalTarget, follow},
    sandbox::{Sandbox, SandboxUser, WallError, Walls},
};
use testkit::agents::skip;

const LONG: Duration = Duration::from_secs(60);

/// A home, a checkout in it with a remote, and a slot whose tree has other content.
struct World {
    directory: tempfile::TempDir,
    project: PathBuf,
    walls: Walls,
}

fn git(directory: &Path, arguments: &[&str]) {
    let who = ["-c", "user.name=T", "-c", "user.email=t@localhost"];
    let mut command = Command::new("git");
    command.args(who).args(arguments).current_dir(directory);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let done = command.output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

impl World {
    /// Makes the world with the checkout at `path` below it.
    fn or_skip(path: &str) -> Option<Self> {
        let sandbox = match Sandbox::find() {
            Ok(sandbox) => sandbox,
            Err(why) => {
                skip(&why.to_string());
                return None;
            }
        };
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        let project = base.join(path);
        let slot = base.join("home/state/warp/slots/1");
        fs::create_dir_all(&project).unwrap();
        fs::create_dir_all(slot.join("tree")).unwrap();
        git(&project, &["init", "--quiet"]);
        git(&project, &["remote", "add", "origin", "https://ann:SECRET@example.org/a.git"]);
        fs::write(project.join("a.txt"), "one\n").unwrap();
        git(&project, &["add", "a.txt"]);
        git(&project, &["commit", "--quiet", "-m", "begin"]);
        git(&slot, &["clone", "--quiet", "--bare", project.to_str().unwrap(), "git"]);
        git(&slot.join("git"), &["config", "core.bare", "false"]);
        git(&slot.join("git"), &["config", "--remove-section", "remote.origin"]);
        fs::write(slot.join("tree/.git"), format!("gitdir: {}\n", slot.join("git").display())).unwrap();
        git(&slot.join("tree"), &["checkout", "--quiet", "--force", "--detach", "HEAD"]);
        fs::write(project.join("marker"), "CHECKOUT").unwrap();
        let mut walls =
            sandbox.walls(&slot.join("tree"), &base.join("home"), &base.join("home/state/warp/kept"));
        walls.git_dir = Some(slot.join("git"));
        walls.hidden = vec![base.join("home/state/warp")];
        walls.project = Some(project.clone());
        Some(Self { directory, project, walls })
    }

    fn base(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    fn run(&self, script: &str) -> (String, ProgramResult) {
        let arguments = ["-c".into(), script.into()];
        let (program, arguments) = self.walls.wrap(SandboxUser::Agent, "sh".as_ref(), arguments).unwrap();
        let environment = vec![
            ("PATH".into(), std::env::var_os("PATH").unwrap()),
            ("HOME".into(), self.walls.home.clone().into()),
            ("BASE".into(), self.base().into()),
            ("P".into(), self.project.clone().into()),
            ("TREE".into(), self.walls.tree.clone().into()),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ];
        let job = Job {
            program,
            arguments,
            directory: Path::new("/"),
            environment: Environment::Exactly(environment),
            input: Vec::new(),
            limits: Limits { whole: LONG, silence: LONG },
            ladder: &[(Signal::TERM, Duration::from_secs(5))],
            reach: SignalTarget::Within(self.walls.bounds),
            mark: "over",
        };
        let followed = follow(job, &mut |_| Control::On).unwrap();
        let text = String::from_utf8_lossy(&followed.stdout).into_owned()
            + &String::from_utf8_lossy(&followed.stderr);
        (text, followed)
    }
}

#[test]
fn the_tree_is_the_project_and_the_checkout_is_not_there() {
    for path in ["home/demo", "elsewhere/demo", "home/my projects/größe", "home/.config/tool"] {
        let Some(world) = World::or_skip(path) else { return };
        let script = r#"
            pwd; echo two >> a.txt; git status --short; git log --format=%s; git rev-parse --show-toplevel
            cat marker "$P/marker"; ls "$TREE" "$TREE/../git" "$BASE/home/state/warp"; echo x > "$P/new.txt"
            git config --list | grep remote; git commit --allow-empty -m no; git config core.fsmonitor x
            rm -rf .git; git status --short; cat "$P/.git/config""#;
        let (text, followed) = world.run(script);
        let top = world.project.display();
        assert!(text.starts_with(&format!("{top}\n M a.txt\nbegin\n{top}\n")), "{path}: {text}");
        for hidden in ["CHECKOUT", "SECRET", "journal", "remote."] {
            assert!(!text.contains(hidden), "{path}: {hidden} in {text}");
        }
        let tree = &world.walls.tree;
        assert_eq!(fs::read_to_string(tree.join("a.txt")).unwrap(), "one\ntwo\n", "{followed:?}");
        assert!(tree.join("new.txt").exists() && !world.project.join("new.txt").exists(), "{text}");
        assert_eq!(fs::read_to_string(world.project.join("a.txt")).unwrap(), "one\n");
        assert!(fs::read_to_string(tree.join(".git")).unwrap().starts_with("gitdir: "));
        assert!(!text.contains(&*tree.to_string_lossy()) || text.contains("No such file"), "{text}");
    }
}

#[test]
fn a_project_is_there_by_the_name_that_leads_to_it_through_links() {
    let Some(mut world) = World::or_skip("data/demo") else { return };
    symlink(world.base().join("data"), world.base().join("home/code")).unwrap();
    world.walls.also_known_as = vec![world.base().join("home/code/demo")];
    let (text, _) = world.run("cd ~/code/demo && ls && cat marker; git status --short");
    assert!(text.starts_with("a.txt\n") && !text.contains("CHECKOUT") && !text.contains("fatal"), "{text}");
}

#[test]
fn another_tree_can_take_the_same_place() {
    let Some(world) = World::or_skip("home/demo") else { return };
    let copy = world.base().join("home/state/warp/copy");
    let reports = world.base().join("home/state/warp/reports");
    fs::create_dir(&copy).unwrap();
    fs::create_dir(&reports).unwrap();
    fs::write(copy.join("a.txt"), "broken\n").unwrap();
    let mut walls = world.walls.over(&copy);
    walls.writable.push(reports.clone());
    let world = World { walls, ..world };
    let (text, _) = world.run(&format!("pwd; cat a.txt; echo report > {}/r", reports.display()));
    assert_eq!(text, format!("{}\nbroken\n", world.project.display()));
    assert_eq!(fs::read_to_string(reports.join("r")).unwrap(), "report\n");
}

#[test]
fn a_file_of_the_checkout_that_is_needed_has_another_place() {
    let Some(mut world) = World::or_skip("home/demo") else { return };
    let (file, other) = (world.project.join("marker"), world.base().join("home/needed"));
    fs::write(&other, "OTHER").unwrap();
    world.walls.visible = vec![file.clone(), other.clone()];
    let seen = world.walls.seen_at(&file);
    assert_eq!(world.walls.seen_at(&other), other);
    let (text, _) = world.run(&format!("cat {} {}; ls", seen.display(), other.display()));
    assert_eq!(text, "CHECKOUTOTHERa.txt\n");
}

#[test]
fn a_program_in_a_directory_that_is_empty_inside_is_shown_with_what_it_needs() {
    let Some(mut world) = World::or_skip("home/demo") else { return };
    let base = world.base();
    fs::create_dir_all(base.join("python/bin")).unwrap();
    fs::create_dir_all(base.join("python/lib")).unwrap();
    fs::create_dir_all(base.join("agents")).unwrap();
    fs::write(base.join("python/lib/needed"), "library\n").unwrap();
    fs::write(base.join("agents/SECRET"), "SECRET\n").unwrap();
    let script = |path: &str, text: String| {
        let path = base.join(path);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    script("python/bin/run", format!("#!/bin/sh\ncat {}/python/lib/needed\nsh \"$1\"\n", base.display()));
    let agent = script("agents/agent", format!("#!{}/python/bin/run\necho agent\n", base.display()));
    let command = format!("{0}; cat {1}/agents/SECRET", agent.display(), base.display());
    assert!(!world.run(&command).0.contains("library"), "the directories are hidden");
    world.walls.show_files_of(agent.to_str().unwrap(), adapters::sandbox::Line::Typed);
    let (text, _) = world.run(&command);
    assert!(text.starts_with("library\nagent\n") && !text.contains("SECRET\n"), "{text}");
}

#[test]
fn a_project_that_holds_the_home_or_the_state_is_refused() {
    let Some(mut world) = World::or_skip("home/demo") else { return };
    for path in ["home", "", "home/state"] {
        let project = world.base().join(path).components().collect::<PathBuf>();
        world.walls.project = Some(project.clone());
        let refused = world.walls.wrap(SandboxUser::Agent, "true".as_ref(), []).unwrap_err();
        assert!(
            matches!(&refused, WallError::ProjectTooWide { project: found, .. } if *found == project),
            "{refused}"
        );
        assert!(refused.to_string().ends_with("move the project into a directory of its own"), "{refused}");
    }
    world.walls.project = None;
    assert_eq!(world.run("true").1.end, End::Exit(0));
}
