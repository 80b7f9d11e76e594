//! Turns the built-in workflows from TOML into JSON, which is faster to read, and takes the digests of their texts.
//! What they have to look like is known to the engine alone.
#![expect(clippy::disallowed_methods, reason = "a build script reads and writes files; the engine does not")]

#[expect(unreachable_pub, reason = "it is public in the engine")]
#[path = "src/digest.rs"]
mod digest;

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
        for (extension, made) in [("json", workflow.to_string()), ("sha256", digest::digest(&text))] {
            let file = Path::new(&out).join(name).with_extension(extension);
            fs::write(&file, made)
                .unwrap_or_else(|error| panic!("{} cannot be written: {error}", file.display()));
        }
    }
}
