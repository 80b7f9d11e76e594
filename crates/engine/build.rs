//! Turns the built-in workflows from TOML into JSON, which is read with every event and is read much faster.
#![expect(clippy::disallowed_methods, reason = "a build script reads and writes files; the engine does not")]

use std::{env, fs, path::Path};

fn main() {
    let workflows = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workflows");
    println!("cargo::rerun-if-changed={}", workflows.display());
    let out = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    for name in ["warp-drive", "coder", "autonomous-loop", "factory"] {
        let source = workflows.join(name).with_extension("toml");
        let text = fs::read_to_string(&source)
            .unwrap_or_else(|error| panic!("{} cannot be read: {error}", source.display()));
        let workflow: serde_json::Value =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", source.display()));
        let compiled = Path::new(&out).join(name).with_extension("json");
        fs::write(&compiled, workflow.to_string())
            .unwrap_or_else(|error| panic!("{} cannot be written: {error}", compiled.display()));
    }
}
