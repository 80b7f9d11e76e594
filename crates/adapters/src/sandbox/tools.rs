//! What a program needs besides its own file: the libraries beside its `bin`, its virtual environment, its interpreter.
//!
//! Only what can be told from the program's place and its first bytes; nothing is started.

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use super::table::BESIDE_BIN;

/// The file by which Python knows a virtual environment.
const VIRTUAL_ENVIRONMENT: &str = "pyvenv.cfg";
/// The longest first line of a script that is read, in bytes.
const LONGEST_LINE: u64 = 4096;
/// How far interpreters of interpreters, and links to programs, are followed.
const DEEPEST: usize = 4;

/// Returns the files and directories that a program needs, itself included.
pub(super) fn needs(program: &Path, home: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut next = Some(program.to_owned());
    for _ in 0..DEEPEST {
        let Some(program) = next.take() else { break };
        let real = program.canonicalize().unwrap_or_else(|_| program.clone());
        for file in [&program, &real] {
            all.push(file.clone());
            if let Some(directory) = file.parent() {
                all.extend(around(directory, home));
            }
        }
        next = interpreter(&real);
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
    // Programs there are links to packages.
    if is(directory, ".bin") && is(above, "node_modules") { vec![above.to_owned()] } else { Vec::new() }
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

/// Reads which interpreter a script names in its first line.
fn interpreter(script: &Path) -> Option<PathBuf> {
    let mut start = Vec::new();
    File::open(script).ok()?.take(LONGEST_LINE).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let path = PathBuf::from(line.split_whitespace().next()?);
    path.is_absolute().then_some(path)
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
        fs::write(base.join("python/bin/python3"), "").unwrap();
        std::os::unix::fs::symlink(base.join("python/bin/python3"), base.join("venv/bin/python")).unwrap();
        let script = base.join("agents/agent");
        fs::write(&script, format!("#!{}/venv/bin/python -u\nprint()\n", base.display())).unwrap();
        let needed = needs(&script, Path::new("/home/nobody"));
        for path in ["agents/agent", "venv", "python/bin/python3", "python/lib"] {
            assert!(needed.contains(&base.join(path)), "{path}: {needed:?}");
        }
        assert!(!needed.contains(&base.join("agents")) && !needed.contains(&base), "{needed:?}");
    }
}
