//! Each way that leads back, and those that look like one.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

/// A checkout with an `ü` and a space in its path, a slot, and a home.
struct World {
    directory: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let world = Self { directory: tempfile::tempdir().unwrap() };
        for directory in ["mein prüfling/src", "slot", "home", "elsewhere"] {
            fs::create_dir_all(world.path(directory)).unwrap();
        }
        world
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(path)
    }

    fn write(&self, path: &str, text: &str) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = text.replace("CHECKOUT", self.path("mein prüfling").to_str().unwrap());
        fs::write(path, text.replace("BASE", self.path("").to_str().unwrap().trim_end_matches('/'))).unwrap();
        self
    }

    fn program(&self, path: &str, text: &str) -> &Self {
        self.write(path, text);
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    /// Makes a virtual environment whose `pytest` is a script of its own Python.
    fn venv(&self) -> &Self {
        self.write("home/venv/pyvenv.cfg", "home = /nowhere\n");
        self.program("home/venv/bin/python", "\u{7f}ELF");
        self.program("home/venv/bin/pytest", "#!BASE/home/venv/bin/python\n");
        self.write("home/venv/lib/python3.12/site-packages/six.py", "")
    }

    /// Returns the files that lead back, below the world.
    fn found(&self, command: &str) -> Vec<String> {
        let env = |name: &str| match name {
            "PATH" => Some(self.path("home/venv/bin").into()),
            "HOME" => Some(self.path("home").into()),
            _ => None,
        };
        let found = leads_back(&self.path("mein prüfling"), &self.path("slot"), command, &env);
        let base = self.path("");
        found.iter().map(|finding| finding.file.strip_prefix(&base).unwrap().display().to_string()).collect()
    }
}

const SITE: &str = "home/venv/lib/python3.12/site-packages";

#[test]
fn an_editable_install_is_found_in_whatever_way_it_was_made() {
    for (file, text) in [
        ("__editable__.demo-1.pth", "CHECKOUT/src\n"),
        ("easy-install.pth", "/nowhere\nCHECKOUT\n"),
        ("demo.pth", "../../../../../mein prüfling/src\n"),
        ("demo.egg-link", "CHECKOUT\n.\n"),
        ("__editable___demo_finder.py", "MAPPING: dict[str, str] = {'demo': 'CHECKOUT/src'}\n"),
        ("demo.pth", "import sys; sys.path.insert(0, 'CHECKOUT/src')\n"),
        ("demo-1.dist-info/direct_url.json", r#"{"url": "file://CHECKOUT", "dir_info": {"editable": true}}"#),
    ] {
        let world = World::new();
        world.venv().write(&format!("{SITE}/{file}"), text);
        for command in ["pytest -q", "python -m pytest", "CI=1 BASE/home/venv/bin/pytest"] {
            let command = command.replace("BASE", world.path("").to_str().unwrap().trim_end_matches('/'));
            assert_eq!(world.found(&command), [format!("{SITE}/{file}")], "{command}: {text}");
        }
        assert_eq!(world.found("make test").len(), 0, "nothing says that this is Python");
        assert_eq!(world.write("slot/pyproject.toml", "").found("make test").len(), 1, "{text}");
        assert_eq!(world.found("uv run pytest").len(), 0, "that makes an environment of its own");
    }
}

#[test]
fn an_address_may_have_percent_signs() {
    let world = World::new();
    let url = format!("file://{}/mein%20pr%C3%BCfling", world.path("").display());
    let text = format!(r#"{{"url": "{url}", "dir_info": {{"editable": true}}}}"#);
    world.venv().write(&format!("{SITE}/demo-1.dist-info/direct_url.json"), &text);
    assert_eq!(world.found("pytest").len(), 1);
}

#[test]
fn what_does_not_lead_into_the_checkout_is_let_through() {
    let world = World::new();
    world.venv().write("slot/pyproject.toml", "");
    for (file, text) in [
        ("slot.pth", "BASE/slot\n"),
        ("other.pth", "BASE/elsewhere\nimport os\n# CHECKOUT\n"),
        ("copy-1.dist-info/direct_url.json", r#"{"url": "file://CHECKOUT", "dir_info": {}}"#),
        ("demo.py", "where = 'CHECKOUT'\n"),
    ] {
        world.write(&format!("{SITE}/{file}"), text);
    }
    assert_eq!(world.found("pytest"), [""; 0]);
}

#[test]
fn the_base_interpreter_counts_where_an_environment_shares_it() {
    let world = World::new();
    world.venv().write("home/.local/lib/python3.12/site-packages/demo.pth", "CHECKOUT\n");
    assert_eq!(world.found("pytest"), [""; 0]);
    world.write("home/venv/pyvenv.cfg", "home = /nowhere\ninclude-system-site-packages = true\n");
    assert_eq!(world.found("pytest"), ["home/.local/lib/python3.12/site-packages/demo.pth"]);
}

#[test]
fn linked_packages_are_found() {
    let world = World::new();
    for directory in ["slot/node_modules/@us", "slot/packages/a/node_modules", "slot/packages/b"] {
        fs::create_dir_all(world.path(directory)).unwrap();
    }
    let link = |to: &str, at: &str| symlink(world.path(to), world.path(at)).unwrap();
    link("mein prüfling", "elsewhere/global");
    link("elsewhere/global", "slot/node_modules/linked");
    link("mein prüfling/src", "slot/node_modules/@us/scoped");
    link("mein prüfling/src", "slot/packages/a/node_modules/deep");
    link("slot/packages/b", "slot/node_modules/b");
    let mut found = world.found("npm test");
    found.sort();
    assert_eq!(
        found,
        ["slot/node_modules/@us/scoped", "slot/node_modules/linked", "slot/packages/a/node_modules/deep"]
    );
}

#[test]
fn modules_and_crates_of_the_checkout_are_found() {
    let world = World::new();
    world.write("slot/go.mod", "module x\n\nreplace y => ../y // CHECKOUT\n");
    world
        .write("slot/Cargo.toml", "")
        .write("home/.cargo/config.toml", "[build]\ntarget-dir = \"CHECKOUT/target\"\n");
    assert_eq!(world.found("make test"), [""; 0]);
    let link = world.path("plain");
    symlink(world.path("mein prüfling"), &link).unwrap();
    world.write("slot/go.work", &format!("go 1.22\n\nuse (\n\t.\n\t{}/src\n)\n", link.display()));
    assert_eq!(world.found("go test ./..."), ["slot/go.work"]);
    for text in [
        "paths = [\"CHECKOUT\"]\n",
        "paths = [\"../mein prüfling\"]\n",
        "[patch.crates-io]\ndemo = { path = \"CHECKOUT/src\" }\n",
        "[source.vendored]\ndirectory = \"CHECKOUT/src\"\n",
    ] {
        world.write("home/.cargo/config.toml", text);
        assert_eq!(world.found("cargo test"), ["slot/go.work", "home/.cargo/config.toml"], "{text}");
    }
}

#[test]
fn a_finding_says_what_to_do() {
    let finding = Finding { file: "/v/x.pth".into(), to: "/c".into(), remedy: "do this" };
    assert_eq!(finding.to_string(), "`/v/x.pth` leads to `/c`: do this");
}
