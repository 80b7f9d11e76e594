//! `cargo xtask dist`: what people install. An archive and a Debian package for each machine, and their checksums.
//!
//! The archive's files lie as they do below `/usr/local` or `~/.local`, so to unpack it there is to install it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    build::{ARM64, DIST, Platform, X86_64, target},
    run::{Result, capture, root, say},
    system::found,
};

/// The program's name in Debian: `warp` is another one's.
const PACKAGE: &str = "warp-drive";
/// Texts that come along.
const DOCS: &[&str] = &["README.md", "CHANGELOG.md", "LICENSE", "LICENSE-APACHE", "LICENSE-MIT"];
/// Where each shell looks for completions below a prefix, and as what it is asked for.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "share/bash-completion/completions/warp"),
    ("zsh", ZSH),
    ("fish", "share/fish/vendor_completions.d/warp.fish"),
];
const ZSH: &str = "share/zsh/site-functions/_warp";
/// Where Debian's zsh looks for completions of packages.
const ZSH_OF_DEBIAN: &str = "share/zsh/vendor-completions/_warp";

/// Builds and packages: `cargo xtask dist`. With `--profile NAME` something else than what is released, to look at the packages.
pub(crate) fn run(arguments: &[&str]) -> Result {
    let profile = match arguments {
        [] => DIST,
        ["--profile", profile] => profile,
        _ => return Err("usage: cargo xtask dist [--profile NAME]".to_owned()),
    };
    if let Some(why) = X86_64.missing() {
        return Err(format!("no static build: {why}"));
    }
    let native = X86_64.build(profile)?;
    let mut programs = vec![(&X86_64, native.clone())];
    match ARM64.missing() {
        None => programs.push((&ARM64, ARM64.build(profile)?)),
        Some(why) => say(&format!("no packages for arm64: {why}")),
    }
    let packages = target().join("packages");
    remove(&packages)?;
    let mut files = Vec::new();
    for (platform, program) in programs {
        files.extend(package(platform, &program, &native, &packages)?);
    }
    sums(&packages, &files)?;
    for file in files.iter().map(String::as_str).chain(["SHA256SUMS"]) {
        say(&format!("{}", packages.join(file).display()));
    }
    Ok(())
}

/// Packages a program for a machine; `native` is the same program for this one, which writes completions and man pages. Returns
/// the names of the packages.
fn package(platform: &Platform, program: &Path, native: &Path, packages: &Path) -> Result<Vec<String>> {
    let version = env!("CARGO_PKG_VERSION");
    let name = format!("warp-{version}-{}", platform.name);
    make_directory(packages)?;
    let work = tempfile::tempdir_in(packages).map_err(|error| format!("{}: {error}", packages.display()))?;
    let tree = work.path().join(&name);
    lay_out(native, &tree)?;
    copy(program, &tree.join("bin/warp"))?;
    let archive = format!("{name}.tar.gz");
    // The same files give the same archive, whoever makes it and when.
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0", "-C"])
        .arg(work.path());
    capture(tar.args(["--use-compress-program=gzip -n", "-cf"]).arg(packages.join(&archive)).arg(&name))?;
    let mut made = vec![archive];
    if found("dpkg-deb").is_some() {
        made.push(debian(platform, version, &tree, packages)?);
    } else {
        say("no Debian package: dpkg-deb is not installed");
    }
    Ok(made)
}

/// Makes a Debian package of what lies below a prefix.
fn debian(platform: &Platform, version: &str, prefix: &Path, packages: &Path) -> Result<String> {
    let work = tempfile::tempdir_in(packages).map_err(|error| format!("{}: {error}", packages.display()))?;
    let tree = work.path().join("tree");
    make_directory(&tree.join("DEBIAN"))?;
    capture(Command::new("cp").arg("-a").arg(prefix).arg(tree.join("usr")))?;
    let (from, to) = (tree.join("usr").join(ZSH), tree.join("usr").join(ZSH_OF_DEBIAN));
    make_directory(to.parent().unwrap_or(&to))?;
    fs::rename(&from, &to).map_err(|error| format!("{}: {error}", to.display()))?;
    remove(from.parent().unwrap_or(&from))?;
    let control = format!(
        "Package: {PACKAGE}\nVersion: {version}\nArchitecture: {}\nMaintainer: The Warp Drive authors <warp-drive@localhost>\n\
         Section: devel\nPriority: optional\nDepends: git\nRecommends: bubblewrap\nSuggests: tmux\n\
         Description: drive coding agents through phases that they cannot step out of\n \
         Turns approved issues into reviewed, tested and merged commits.\n",
        platform.debian
    );
    fs::write(tree.join("DEBIAN/control"), control).map_err(|error| format!("control: {error}"))?;
    let file = format!("{PACKAGE}_{version}_{}.deb", platform.debian);
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "--build"]).arg(&tree).arg(packages.join(&file));
    capture(build.env("SOURCE_DATE_EPOCH", "0"))?;
    Ok(file)
}

/// Lays out all that is installed below a prefix, and returns its files in order. The program says itself what its completions and
/// man pages are.
pub(crate) fn lay_out(program: &Path, prefix: &Path) -> Result<Vec<String>> {
    copy(program, &prefix.join("bin/warp"))?;
    for (shell, file) in COMPLETIONS {
        let mut command = Command::new(program);
        let text = capture(command.args(["completions", shell]).env("COLUMNS", "100"))?;
        write(&prefix.join(file), &text)?;
    }
    let pages = prefix.join("share/man/man1");
    make_directory(&pages)?;
    capture(Command::new(program).args(["completions", "man", "--dir"]).arg(&pages))?;
    for name in DOCS {
        copy(&root().join(name), &prefix.join("share/doc").join(PACKAGE).join(name))?;
    }
    files(prefix)
}

/// Writes the checksums of all packages.
fn sums(packages: &Path, files: &[String]) -> Result {
    let sums = capture(Command::new("sha256sum").arg("--").args(files).current_dir(packages))?;
    write(&packages.join("SHA256SUMS"), &sums)
}

/// Names the files below a directory, in order.
fn files(directory: &Path) -> Result<Vec<String>> {
    let (mut found, mut waiting) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(below) = waiting.pop() {
        let at = directory.join(&below);
        let failed = |error| format!("{}: {error}", at.display());
        for entry in fs::read_dir(&at).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = below.join(entry.file_name());
            if entry.file_type().map_err(failed)?.is_dir() {
                waiting.push(path);
            } else {
                found.push(path.to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}

fn make_directory(path: &Path) -> Result {
    fs::create_dir_all(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn copy(from: &Path, to: &Path) -> Result {
    make_directory(to.parent().unwrap_or(to))?;
    fs::copy(from, to).map(drop).map_err(|error| format!("{}: {error}", from.display()))
}

fn write(path: &Path, text: &str) -> Result {
    make_directory(path.parent().unwrap_or(path))?;
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn remove(directory: &Path) -> Result {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", directory.display()))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A program that writes completions and a man page as `warp` does.
    const PROGRAM: &str =
        "#!/bin/sh\nif [ \"$2\" = man ]; then echo page > \"$4/warp.1\"; else echo \"completes in $2\"; fi\n";

    fn listed(command: &mut Command) -> Vec<String> {
        let text = capture(command).unwrap();
        let mut files: Vec<String> =
            text.lines().filter(|line| !line.ends_with('/')).map(str::to_owned).collect();
        files.sort();
        files
    }

    #[test]
    fn packages_hold_the_program_completions_man_pages_and_licenses() {
        let packages = tempfile::tempdir().unwrap();
        let program = packages.path().join("program");
        // Another process writes it, as one that is written here may be open in another test's child.
        let text = packages.path().join("text");
        fs::write(&text, PROGRAM).unwrap();
        // Another process makes the program: one that is written here may be open in another test's child when it is started.
        capture(Command::new("install").args(["-m", "755"]).arg(&text).arg(&program)).unwrap();
        let made = package(&X86_64, &program, &program, packages.path()).unwrap();
        let archive = format!("warp-{}-x86_64-linux.tar.gz", env!("CARGO_PKG_VERSION"));
        let below = archive.trim_end_matches(".tar.gz");
        let shared = [
            "bin/warp",
            "share/bash-completion/completions/warp",
            "share/doc/warp-drive/CHANGELOG.md",
            "share/doc/warp-drive/LICENSE",
            "share/doc/warp-drive/LICENSE-APACHE",
            "share/doc/warp-drive/LICENSE-MIT",
            "share/doc/warp-drive/README.md",
            "share/fish/vendor_completions.d/warp.fish",
            "share/man/man1/warp.1",
        ];
        let expected = |prefix: &str, zsh: &str| {
            let mut files: Vec<String> = shared.iter().map(|file| format!("{prefix}/{file}")).collect();
            files.push(format!("{prefix}/{zsh}"));
            files.sort();
            files
        };
        let tar = listed(Command::new("tar").arg("-tzf").arg(packages.path().join(&archive)));
        assert_eq!(tar, expected(below, ZSH));
        // To unpack it is to install it.
        let home = packages.path().join("home");
        fs::create_dir(&home).unwrap();
        let mut unpack = Command::new("tar");
        unpack.arg("-xzf").arg(packages.path().join(&archive)).arg("-C").arg(&home);
        capture(unpack.arg("--strip-components=1")).unwrap();
        let mode = fs::metadata(home.join("bin/warp")).unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0o111);
        assert_eq!(fs::read_to_string(home.join(ZSH)).unwrap(), "completes in zsh\n");
        if let Some(deb) = made.get(1) {
            assert_eq!(*deb, format!("warp-drive_{}_amd64.deb", env!("CARGO_PKG_VERSION")));
            let to = packages.path().join("unpacked");
            let mut unpack = Command::new("dpkg-deb");
            capture(unpack.arg("--extract").arg(packages.path().join(deb)).arg(&to)).unwrap();
            let files: Vec<String> =
                files(&to).unwrap().into_iter().map(|file| format!("./{file}")).collect();
            assert_eq!(files, expected("./usr", ZSH_OF_DEBIAN));
        } else {
            assert!(found("dpkg-deb").is_none());
        }
        sums(packages.path(), &made).unwrap();
        capture(
            Command::new("sha256sum")
                .args(["--check", "--strict", "SHA256SUMS"])
                .current_dir(packages.path()),
        )
        .unwrap();
        let left: Vec<String> = files(packages.path()).unwrap();
        assert!(!left.iter().any(|file| file.contains("tree/")), "{left:?}");
    }
}
