//! Codex's own patches: which files the text of one names.

/// The tool, and the program, whose text is a patch.
pub const PATCHES: &str = "apply_patch";

/// Returns the files that a patch writes. Codex takes a head with white space before it as well, and all that follows a
/// head for the name.
pub fn patched(patch: &str) -> impl Iterator<Item = &str> {
    const HEADS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    let lines = patch.lines().map(str::trim);
    lines.filter_map(|line| HEADS.iter().find_map(|head| line.strip_prefix(head)))
}

/// Returns the files that a patch may be meant to write: also those with white space before their name.
pub fn perhaps_patched(patch: &str) -> impl Iterator<Item = &str> {
    patched(patch).flat_map(|path| [path, path.trim()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_names_the_files_that_it_writes() {
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-*** Add File: no\n*** Move to: b.rs\n*** End Patch";
        assert_eq!(patched(patch).collect::<Vec<_>>(), ["src/a.rs", "b.rs"]);
        let odd = "*** Begin Patch\n \t*** Delete File:  /../.git/config \r\n*** End Patch";
        assert_eq!(perhaps_patched(odd).collect::<Vec<_>>(), [" /../.git/config", "/../.git/config"]);
    }
}
