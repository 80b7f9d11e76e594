//! What a program needs besides its own file: the libraries beside its `bin`, its virtual environment, its interpreter,
//! the packages of Node beside it, and the program that a wrapper script starts.
//!
//! Only what can be told from the program's place and its first bytes; nothing is started.

use std::{
    fs::File,
    io::{self, Read as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use super::table::BESIDE_BIN;

/// The file by which Python knows a virtual environment.
const VIRTUAL_ENVIRONMENT: &str = "pyvenv.cfg";
/// How much of a script is read, in bytes.
const LONGEST_SCRIPT: u64 = 4096;
/// How far interpreters, wrappers and links to programs are followed.
const DEEPEST: usize = 4;

/// Returns the files and directories that a program needs, itself included.
pub(super) fn needs(program: &Path, home: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut programs = vec![program.to_owned()];
    for _ in 0..DEEPEST {
        let mut started = Vec::new();
        for program in programs {
            let real = program.canonicalize().unwrap_or_else(|_| program.clone());
            started.extend(starts(&real));
            for file in [program, real] {
                all.extend(file.parent().into_iter().flat_map(|directory| around(directory, home)));
                all.push(file);
            }
        }
        programs = started;
    }
    all
}

/// Returns what belongs to a directory of programs.
pub(super) fn around(directory: &Path, home: &Path) -> Vec<PathBuf> {
    let Some(above) = directory.parent().filter(|above| *above != home) else { return Vec::new() };
    let is = |path: &Path, name: &str| path.file_name().is_some_and(|found| found == name);
    if above.join(VIRTUAL_ENVIRONMENT).is_file() {
        return environment(above, home);
    }
    if is(directory, "bin") || is(directory, "sbin") {
        return BESIDE_BIN.iter().map(|name| above.join(name)).collect();
    }
    // A package's program needs the packages beside it.
    let packages = directory.ancestors().filter(|path| is(path, "node_modules")).last();
    packages.map(Path::to_owned).into_iter().collect()
}

/// Returns a virtual environment, and the Python that it was made with.
pub(super) fn environment(root: &Path, home: &Path) -> Vec<PathBuf> {
    let mut all = vec![root.to_owned()];
    if let Ok(python) = root.join("bin/python").canonicalize()
        && let Some(directory) = python.parent().filter(|directory| !directory.starts_with(root))
    {
        all.push(python.clone());
        all.extend(around(directory, home));
    }
    all
}

/// Returns the programs that a short script names by their whole path: its interpreter, and what a wrapper starts.
fn starts(script: &Path) -> Vec<PathBuf> {
    let read = || {
        let mut text = Vec::new();
        File::open(script)?.take(LONGEST_SCRIPT).read_to_end(&mut text)?;
        io::Result::Ok(text)
    };
    // What cannot be read starts nothing.
    let text = read().unwrap_or_default();
    if !text.starts_with(b"#!") {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&text);
    let words = text[2..].split(|c: char| c.is_whitespace() || "'\"`;&|()=<>".contains(c));
    let is_program = |path: &Path| {
        let data = path.metadata();
        data.is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    words.filter(|word| word.starts_with('/')).map(PathBuf::from).filter(|path| is_program(path)).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_script_needs_its_interpreter_and_that_its_environment() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        for path in ["venv/bin", "venv/lib", "python/bin", "python/lib", "agents"] {
            fs::create_dir_all(base.join(path)).unwrap();
        }
        fs::write(base.join("venv/pyvenv.cfg"), "").unwrap();
        let write_program = |path: PathBuf, text: &str| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        write_program(base.join("python/bin/python3"), "");
        std::os::unix::fs::symlink(base.join("python/bin/python3"), base.join("venv/bin/python")).unwrap();
        let script = base.join("agents/agent");
        write_program(script.clone(), &format!("#!{}/venv/bin/python -u\nprint()\n", base.display()));
        let needed = needs(&script, Path::new("/home/nobody"));
        for path in ["agents/agent", "venv", "python/bin/python3", "python/lib"] {
            assert!(needed.contains(&base.join(path)), "{path}: {needed:?}");
        }
        assert!(!needed.contains(&base.join("agents")) && !needed.contains(&base), "{needed:?}");
    }

    #[test]
    fn a_wrapper_needs_what_it_starts_and_that_its_packages() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("client/node_modules/agent/dist")).unwrap();
        let (wrapper, program) = (base.join("agent"), base.join("client/node_modules/agent/dist/agent.js"));
        fs::write(
            &wrapper,
            format!("#!/bin/sh\nX={}\nexec '{}' \"$@\"\n", base.display(), program.display()),
        )
        .unwrap();
        fs::write(&program, "#!/usr/bin/env node\n").unwrap();
        assert!(!needs(&wrapper, Path::new("/home/nobody")).contains(&program), "no program");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let needed = needs(&wrapper, Path::new("/home/nobody"));
        for path in [&wrapper, &program, &base.join("client/node_modules")] {
            assert!(needed.contains(path), "{}: {needed:?}", path.display());
        }
        assert!(!needed.contains(&base) && !needed.contains(&base.join("client")), "{needed:?}");
    }
}
