//! The plugin's skills, as a project's own.
//!
//! A plugin's skill carries the plugin's name (`/warp-drive:warp-drive`); a project's is called plainly (`/warp-drive`).

macro_rules! skills {
    ($($name:literal)+) => {
        &[$((concat!(".claude/skills/", $name, "/SKILL.md"), $name,
            include_str!(concat!("../../../../plugin/skills/", $name, "/SKILL.md"))),)+]
    };
}

/// File, name and text of each skill.
pub(super) const SKILLS: &[(&str, &str, &str)] = skills! {
    "warp-drive" "stop-warp-drive" "automation" "rdb" "start-work" "requirement" "capability" "vision" "dev-up"
    "doc-sync" "doc-audit" "auto-loop" "loop-status" "loop-cancel"
};
