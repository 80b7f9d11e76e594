//! The workflows that are compiled in.

/// A workflow that is compiled in.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    pub name: &'static str,
    /// The text that a run is pinned to.
    pub text: &'static str,
    /// The same as JSON, made by the build script.
    pub(super) compiled: &'static str,
}

macro_rules! built_in {
    ($name:literal) => {
        BuiltIn {
            name: $name,
            text: include_str!(concat!("../../../../workflows/", $name, ".toml")),
            compiled: include_str!(concat!(env!("OUT_DIR"), "/", $name, ".json")),
        }
    };
}

/// The built-in workflows.
pub const BUILT_IN: &[BuiltIn] =
    &[built_in!("warp-drive"), built_in!("coder"), built_in!("autonomous-loop"), built_in!("factory")];
