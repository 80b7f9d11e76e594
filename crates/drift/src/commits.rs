//! Commits that change a project's tooling and no document.

/// Directories whose content people look up in documents.
const TOOLING: &[&str] = &["skills/", "commands/", "agents/", "hooks/", "bin/", "scripts/"];
/// How the names of documents end.
const DOCUMENTS: &[&str] = &[".md", ".mdx", ".rst", ".adoc"];

/// Tells whether a file is a document, by its name.
pub fn is_document(file: &str) -> bool {
    DOCUMENTS.iter().any(|end| file.to_lowercase().ends_with(end))
}

/// Warns of a commit that changes tooling and no document; `files` are those that it changes.
pub fn advice_on_commit(files: &[String]) -> Option<String> {
    let is_tooling = |file: &&String| {
        TOOLING.iter().any(|directory| file.starts_with(directory)) || file.as_str() == "Makefile"
    };
    let tooling = files.iter().find(is_tooling)?;
    let has_document = files.iter().any(|file| is_document(file));
    (!has_document).then(|| {
        format!(
            "the commit changes `{tooling}` and no document: check that the documentation still says what it does \
             (`warp docs audit`)"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::advice_on_commit;

    #[test]
    fn tooling_without_a_document_is_advised_on() {
        let advised = |files: &[&str]| {
            advice_on_commit(&files.iter().map(|file| (*file).to_owned()).collect::<Vec<_>>()).is_some()
        };
        assert!(advised(&["src/a.rs", "scripts/run.sh"]));
        assert!(advised(&["Makefile"]));
        assert!(!advised(&["Makefile", "docs/run.md"]));
        assert!(!advised(&["src/scripts.rs", "lib/Makefile"]));
        assert!(!advised(&[]));
    }
}
