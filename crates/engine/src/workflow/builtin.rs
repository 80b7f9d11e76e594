//! The workflows that are compiled in.

/// The built-in workflows: name and text.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("warp-drive", include_str!("../../../../workflows/warp-drive.toml")),
    ("coder", include_str!("../../../../workflows/coder.toml")),
    ("autonomous-loop", include_str!("../../../../workflows/autonomous-loop.toml")),
    ("factory", include_str!("../../../../workflows/factory.toml")),
];
