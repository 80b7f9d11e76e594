//! Docs that Sphinx builds from MyST Markdown: their links may name labels, documents and objects of the code instead of files.
//!
//! Labels are gathered from all pages below `conf.py`. What may be an object, such as `package.function`, is known to Sphinx
//! alone, and is not judged.

use std::collections::BTreeSet;

use super::tree::{Tree, join, parent};

/// The pages that Sphinx makes by itself.
const MADE: [&str; 4] = ["genindex", "modindex", "py-modindex", "search"];
/// What documents are written in.
const SOURCES: [&str; 4] = ["md", "rst", "txt", "ipynb"];
/// Endings by which a name with dots is a file, and no object.
const FILES: &str = " c cfg css gif h html in ini ipynb jpeg jpg js json lock md pdf png py rs rst sh svg toml ts txt xml yaml yml zip ";

/// The docs below one `conf.py`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sphinx {
    /// The directory of `conf.py`.
    pub(super) root: String,
    /// What any page can refer to, in lower case.
    pub(super) labels: BTreeSet<String>,
}

/// What can be said of a link's target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A label, a document or a page that Sphinx makes.
    Known,
    /// It may be an object of the code.
    Unsure,
    /// It looks like a label, and is none of these pages.
    NoLabel,
    /// It is a file, or nothing.
    File,
}

impl Sphinx {
    /// Tells whether a configuration reads pages as MyST.
    pub(super) fn is_meant(conf: &str) -> bool {
        let code = conf.lines().map(|line| line.split('#').next().unwrap_or_default());
        code.into_iter().any(|line| line.contains("myst_parser") || line.contains("myst_nb"))
    }

    /// Tells whether the docs have a page.
    pub(super) fn has(&self, file: &str) -> bool {
        self.root.is_empty() || file.strip_prefix(&self.root).is_some_and(|rest| rest.starts_with('/'))
    }

    /// Tells whether a page has this label.
    pub(super) fn has_label(&self, name: &str) -> bool {
        self.labels.contains(&plain(name))
    }

    /// Says what a link on a page leads to, where that is no file of the tree.
    pub(super) fn target(&self, address: &str, file: &str, tree: &Tree<'_>) -> Target {
        if self.has_label(address) || MADE.contains(&address.trim_end_matches(".html")) {
            return Target::Known;
        }
        // A document is named without its ending, from the page or from the root of the docs.
        let name = address.strip_suffix(".html").unwrap_or(address);
        let from = if name.starts_with('/') { self.root.as_str() } else { parent(file) };
        let is_document = join(from, name.trim_start_matches('/'))
            .is_some_and(|path| SOURCES.iter().any(|ending| tree.has(&format!("{path}.{ending}"))));
        if is_document {
            return Target::Known;
        }
        if is_object(address) {
            return Target::Unsure;
        }
        let is_label = !address.contains(['/', '.', '?']);
        if is_label { Target::NoLabel } else { Target::File }
    }
}

/// Returns the labels that a page defines, in lower case.
pub(super) fn labels(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in text.lines().map(str::trim) {
        let of_myst = line.strip_prefix('(').and_then(|rest| rest.strip_suffix(")="));
        let of_rst = line.strip_prefix(".. _").and_then(|rest| rest.strip_suffix(':'));
        let of_directive = line.strip_prefix(":name:");
        if let Some(name) = of_myst.or(of_rst).or(of_directive) {
            found.insert(plain(name.trim().trim_matches('`')));
        }
    }
    found
}

fn plain(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Tells whether a name may be an object's: words with dots between them, and no file's ending.
fn is_object(name: &str) -> bool {
    let name = name.trim_start_matches(['~', '!', '.']).trim_end_matches("()");
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && word.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    let is_file = !ending.is_empty() && FILES.contains(&format!(" {ending} "));
    !is_file && name.split('.').all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree<'static> {
        let files = ["docs/conf.py", "docs/guide.md", "docs/api.rst", "docs/sub/page.md"];
        Tree::new(files.map(str::to_owned).into_iter().collect(), Default::default(), move |path| {
            files.contains(&path)
        })
    }

    #[test]
    fn labels_of_both_languages_and_of_directives_are_found() {
        let text = "(how-frozen)=\n# Frozen\n\n.. _api-Validators:\n.. _`two  words`:\n:::{note}\n:name: a-note\n:::\nf(x)=y\n";
        let found = labels(text);
        assert_eq!(Vec::from_iter(found), ["a-note", "api-validators", "how-frozen", "two words"]);
    }

    #[test]
    fn a_target_is_a_label_a_document_an_object_or_a_file() {
        let docs = Sphinx { root: "docs".to_owned(), labels: labels("(how-frozen)=") };
        for (address, file, target) in [
            ("how-frozen", "docs/guide.md", Target::Known),
            ("How-Frozen", "docs/guide.md", Target::Known),
            ("api", "docs/guide.md", Target::Known),
            ("/api", "docs/sub/page.md", Target::Known),
            ("../guide", "docs/sub/page.md", Target::Known),
            ("guide.html", "docs/api.md", Target::Known),
            ("genindex", "docs/guide.md", Target::Known),
            ("attrs.filters.include", "docs/guide.md", Target::Unsure),
            ("~attrs.define()", "docs/guide.md", Target::Unsure),
            ("attrs", "docs/guide.md", Target::Unsure),
            ("how-thawed", "docs/guide.md", Target::NoLabel),
            ("setup.py", "docs/guide.md", Target::File),
            ("sub/gone.md", "docs/guide.md", Target::File),
            ("sub/gone", "docs/guide.md", Target::File),
        ] {
            assert_eq!(docs.target(address, file, &tree()), target, "{address} on {file}");
        }
        assert!(docs.has("docs/guide.md") && !docs.has("docs2/guide.md") && !docs.has("README.md"));
    }

    #[test]
    fn a_configuration_is_of_myst_if_it_names_its_reader() {
        assert!(Sphinx::is_meant("extensions = [\n    \"myst_parser\",\n]"));
        assert!(!Sphinx::is_meant("# extensions = [\"myst_parser\"]\nextensions = []"));
    }
}
