//! What the attempts are made on: a home with secrets, a state directory, a slot, and servers that listen outside.

use std::{
    fs,
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _},
        net::UnixListener,
    },
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use adapters::{
    process::{Bounds, Control, Environment, Job, Limits, Signal, SignalTarget, follow},
    sandbox::{Sandbox, SandboxUser, Walls},
};

const ATTEMPTS: &str = include_str!("attempts.txt");
const SECRET: &str = "probe-secret-4711";
/// The directory outside that can be seen and must not be written.
const OUT: &str = "/srv/out";
/// How long one attempt may take, in seconds, and all of them.
const ONE: u64 = 20;
const ALL: Duration = Duration::from_secs(400);

/// Makes each attempt of the file `attempts`, and says how it went.
const DRIVER: &str = r#"
while IFS='	' read -r name command <&3; do
    if said=$(timeout "$ONE" sh -c "$PRELUDE
$command" </dev/null 2>/dev/null 3<&-); then
        echo "ESCAPED $name $(echo "$said" | head -1)"
    else
        echo "held $name"
    fi
done 3<attempts
"#;
/// Defined for every attempt.
const PRELUDE: &str = r#"connect_to() { perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) && connect(S, sockaddr_un($ARGV[0])) or exit 1' "$1"; }"#;

pub(crate) struct World {
    base: tempfile::TempDir,
    walls: Walls,
    /// Held open, so that whoever reaches them is answered.
    _servers: Vec<UnixListener>,
}

impl World {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir_in("/home").or_else(|_| tempfile::tempdir_in("/tmp")).unwrap();
        let base = directory.path().canonicalize().unwrap();
        let write = |path: &Path, text: &str| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let home = base.join("home");
        for name in [
            ".ssh/id_ed25519",
            ".codex/auth.json",
            ".local/share/opencode/auth.json",
            ".gemini/oauth_creds.json",
            ".claude/.credentials.json",
            "state/projects/p/journal.db",
        ] {
            write(&home.join(name), SECRET);
        }
        write(&home.join(".claude/settings.json"), "{}");
        for directory in ["/tmp", "/var/tmp", "/dev/shm"] {
            // Not every system has all of them.
            let _ = fs::write(Path::new(directory).join("secret-of-another"), SECRET);
        }
        if fs::metadata("/proc/self").unwrap().uid() == 0 {
            for name in
                ["/srv/private-of-root", "/srv/open/private-of-root", "/srv/open/a/b/c/private-of-root"]
            {
                write(&Path::new(name).join("secret"), SECRET);
                fs::set_permissions(name, fs::Permissions::from_mode(0o700)).unwrap();
            }
            write(Path::new("/srv/open/file-of-root"), SECRET);
            fs::set_permissions("/srv/open/file-of-root", fs::Permissions::from_mode(0o600)).unwrap();
        }
        write(&Path::new(OUT).join("marker"), "untouched");
        write(&Path::new(OUT).join(".visible"), "");
        fs::set_permissions(OUT, fs::Permissions::from_mode(0o777)).unwrap();
        let slot = home.join("state/projects/p/slots/1");
        write(&slot.join("tree/a.txt"), "one\n");
        let sandbox = Sandbox::find().unwrap();
        // Instructions of an architecture mean something else on another.
        let is_meant = |line: &&str| cfg!(target_arch = "x86_64") || !line.contains("syscall(");
        // Root can read these wherever they are, and is not kept from it.
        let is_held = |line: &&str| !sandbox.is_root_inside() || !line.starts_with("as-user-");
        let attempts = ATTEMPTS.lines().filter(|line| line.contains('\t')).filter(is_meant).filter(is_held);
        write(&slot.join("tree/attempts"), &attempts.map(|line| format!("{line}\n")).collect::<String>());
        init(&slot);
        let mut walls = sandbox.walls(&slot.join("tree"), &home, &home.join("state/kept"));
        walls.git_dir = Some(slot.join("git"));
        walls.hidden = vec![home.join("state")];
        walls.logins = vec!["claude".to_owned()];
        walls.bounds = Bounds { processes: 400, memory: 0, temporary: 32 << 20, file: 64 << 20 };
        let servers = listen(&home);
        Self { base: directory, walls, _servers: servers }
    }

    pub(crate) fn is_root_inside(&self) -> bool {
        Sandbox::find().unwrap().is_root_inside()
    }

    fn home(&self) -> PathBuf {
        self.base.path().canonicalize().unwrap().join("home")
    }

    /// Makes all attempts, and returns whether each was held.
    pub(crate) fn attempt(&self, who: SandboxUser) -> Vec<(String, bool)> {
        let arguments = ["-c".into(), DRIVER.into()];
        let (program, arguments) = self.walls.wrap(who, "sh".as_ref(), arguments).unwrap();
        let state = self.home().join("state");
        let variables = [
            ("PATH", std::env::var("PATH").unwrap()),
            ("HOME", self.home().display().to_string()),
            ("OUT", OUT.to_owned()),
            ("STATE", state.display().to_string()),
            ("JOURNAL", state.join("projects/p/journal.db").display().to_string()),
            ("GIT", state.join("projects/p/slots/1/git").display().to_string()),
            ("SECRET", SECRET.to_owned()),
            ("VICTIM", std::process::id().to_string()),
            ("DRIVER", fs::read_to_string("/proc/self/comm").unwrap().trim().to_owned()),
            ("PRELUDE", PRELUDE.to_owned()),
            ("ONE", ONE.to_string()),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
        ];
        let job = Job {
            program,
            arguments,
            directory: Path::new("/"),
            environment: Environment::Exactly(
                variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            ),
            input: Vec::new(),
            limits: Limits { whole: ALL, silence: ALL },
            ladder: &[(Signal::TERM, Duration::from_secs(1))],
            reach: SignalTarget::Within(self.walls.bounds),
            mark: "probe",
        };
        let done = follow(job, &mut |_| Control::On).unwrap();
        let text = String::from_utf8_lossy(&done.stdout);
        let mut made: Vec<(String, bool)> = text
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(how, name)| (name.to_owned(), how == "held"))
            .collect();
        let wanted = fs::read_to_string(self.walls.tree.join("attempts")).unwrap().lines().count();
        assert_eq!(made.len(), wanted, "{:?}: {text}{}", done.end, String::from_utf8_lossy(&done.stderr));
        made.extend(self.left_outside());
        made
    }

    /// Looks from outside whether anything was changed.
    fn left_outside(&self) -> Vec<(String, bool)> {
        let names = |directory: &Path| {
            let entries = fs::read_dir(directory).unwrap();
            let mut names: Vec<String> =
                entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            names.join(" ")
        };
        let slot = self.home().join("state/projects/p/slots/1");
        let marker = fs::read_to_string(Path::new(OUT).join("marker")).unwrap_or_default();
        let hooks = slot.join("git/hooks/pre-commit").exists();
        vec![
            ("marker-outside".to_owned(), marker == "untouched"),
            ("files-outside".to_owned(), names(Path::new(OUT)) == ".visible marker"),
            ("files-in-slot".to_owned(), names(&slot) == "git tree"),
            ("hooks-in-git".to_owned(), !hooks && slot.join("git/objects").is_dir()),
        ]
    }
}

/// Makes the repository of the slot.
fn init(slot: &Path) {
    for arguments in [
        &["init", "--quiet", "--separate-git-dir", "../git"][..],
        &["add", "a.txt"],
        &["-c", "user.name=T", "-c", "user.email=t@localhost", "commit", "--quiet", "-m", "begin"],
    ] {
        let mut git = Command::new("git");
        git.args(arguments).current_dir(slot.join("tree"));
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let done = git.output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }
}

/// Listens wherever programs that obey whoever reaches them would.
fn listen(home: &Path) -> Vec<UnixListener> {
    let places = [
        PathBuf::from("/run/docker.sock"),
        "/run/dbus/system_bus_socket".into(),
        "/tmp/.X11-unix/X0".into(),
        "/var/tmp/agent.sock".into(),
        home.join(".ssh/agent.sock"),
        home.join(".colima/docker.sock"),
        home.join("state/projects/p/control.sock"),
    ];
    let bind = |place: &PathBuf| {
        fs::create_dir_all(place.parent()?).ok()?;
        let listener = UnixListener::bind(place).ok()?;
        fs::set_permissions(place, fs::Permissions::from_mode(0o777)).ok()?;
        Some(listener)
    };
    let servers: Vec<UnixListener> = places.iter().filter_map(bind).collect();
    assert!(servers.len() >= 5, "nobody listens");
    servers
}
