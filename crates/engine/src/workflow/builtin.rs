//! The workflows that are compiled in.

/// A workflow that is compiled in.
#[derive(Clone, Copy)]
pub struct BuiltIn {
    pub name: &'static str,
    /// The text that a run is pinned to.
    pub text: &'static str,
    /// The same as JSON, and the text's digest, made by the build script.
    pub(super) json: &'static str,
    pub(super) digest: &'static str,
}

macro_rules! built_in {
    ($name:literal) => {
        BuiltIn {
            name: $name,
            text: include_str!(concat!("../../../../workflows/", $name, ".toml")),
            json: include_str!(concat!(env!("OUT_DIR"), "/", $name, ".json")),
            digest: include_str!(concat!(env!("OUT_DIR"), "/", $name, ".sha256")),
        }
    };
}

/// The workflow of runs for which none is named.
pub const DEFAULT: &str = "warp-drive";

/// The workflow of runs with an agent in a terminal for which none is named.
pub const ATTACHED: &str = "factory";

/// The built-in workflows.
pub const BUILT_IN: &[BuiltIn] =
    &[built_in!("warp-drive"), built_in!("coder"), built_in!("autonomous-loop"), built_in!("factory")];
