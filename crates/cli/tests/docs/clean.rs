//! Texts that look like drift and are none.

use std::path::Path;

use drift::Docs;
use project::{Place, Shell};
use testkit::agents::skip;

use super::support::{WARP, findings, project};
use crate::support::Ends as _;

/// The pages are in `docs/planted/`.
const CLEAN: &[&str] = &[
    "[x](../guide.md) [y](../guide.md#first-steps) [z](../guide.md#notes-1) [s](../guide.md#setext)\n",
    "[x](../guide.md#brew--pour) [y](../guide.md#whats-new-in-20) [z](../guide.md#by-hand)\n",
    "[x](../guide.md#%C3%BCber-tee) [y](../guide.md#über-tee) [z](../guide.md#top) [w](../guide.md#)\n",
    "[x](../with%20space.md) [y](<../with space.md>) [z](/src) [w](../sub/) [v](..) [u](.)\n",
    "[x](https://example.org/none.md) [y](mailto:a@example.org) [z](//example.org/x) <https://example.org/none>\n",
    "[x](../../../../issues) leads to the forge\n",
    "[x](../../src/leaf.rs#L10) [y](../../src/leaf.rs?plain=1)\n",
    "```md\n[x](none.md)\n<!-- warp:count * -->9<!-- /warp:count -->\n```\n\n    [x](none.md)\n\n`[x](none.md)`\n",
    "---\nlink: \"[x](none.md)\"\n---\n\ntext\n",
    "<!-- [x](none.md) <a href=\"none.md\"> -->\n",
    "\\[x](none.md) and [ ] and [x] and a[1] and - [x] done\n",
    "The cell m[i][j] and f(x)[i][j] of a matrix, and m[0][1][2]\n",
    "<!-- warp:ignore -->\n[x](none.md) `src/old.rs` `tea boil`\n<!-- /warp:ignore -->\n",
    "# A\n\n# A\n\n# A-1\n\n[x](#a) [y](#a-1) [z](#a-1-1)\n",
    "```sh\ntea brew green --minutes 3 --strong # tea boil\ntea -C dir cup wash --hot\ntea kettle\ncoffee boil\n```\n",
    "```console\n$ tea brew -n3\ntea boils, says the program\n```\n",
    "```rust\ntea boil\n```\n\nThe tea boils. `tea` `tea COMMAND` `tea help brew` `tea <command> --any` `tea.rs` `tea: x`\n",
    "`tea brew 'boil --weak'` `tea brew -- --weak` `tea cup wash|fill` `tea brew [--strong] [-n N]`\n",
    "`src/leaf.rs` `src/read/` `read/parser.rs` `./src/leaf.rs` `../guide.md` `lib/x.rs:3`\n",
    "`and/or` `GET /none.md` `origin/main` `feature/x.y` `a/*.rs` `~/x.rs` `/etc/x.conf` `application/json`\n",
    "`example/main.rs` `no/such/dir/file.txt` `https://example.org/src/old.rs` `1/2`\n",
    "<!-- warp:count lib/*.rs -->2<!-- /warp:count --> <!-- warp:count lib/** -->2<!-- /warp:count -->\n",
    "Text with a [^1] note.\n\n[^1]: The note.\n",
];

#[test]
fn what_only_looks_like_drift_is_left_alone() {
    let sandbox = project();
    for (index, page) in CLEAN.iter().enumerate() {
        sandbox.write(&format!("docs/planted/{index}.md"), page);
    }
    // A list of changes tells of the past; what tests read is no documentation.
    sandbox.write("CHANGELOG.md", "- `src/old.rs` is gone, and so is `tea boil`\n");
    sandbox.write("tests/docs/page.md", "[x](none.md)\n");
    sandbox.write("src/notes.md", "[x](none.md)\n");
    let (found, code) = findings(&sandbox, &["audit", "--fail-on-drift"]);
    assert_eq!(found, Vec::<serde_json::Value>::new());
    assert_eq!(code, Some(0));
}

/// A page as it is written for Sphinx with MyST.
const MYST: &str = r#"(how-frozen)=
# Frozen

See [](how-frozen), [frozen](#how-frozen), [the validators](api-validators), {ref}`how-frozen` and {doc}`sub/page`.
[](attrs.filters.include), [*frozen*](attrs.frozen) and {py:func}`attrs.define` are objects, [](api) and [](sub/page) documents,
[x](genindex) is made, [y](sub/page.md#inner) and [z](#a-note) are labels of others, [w](api.html) is what becomes of a page.

:::{note}
:name: a-note
A colon fence with [](how-frozen).
:::

```{doctest}
>>> tea boil
tea boil
```

```{code-block} python
tea boil
```
"#;

#[test]
fn references_of_myst_are_no_broken_links() {
    let sandbox = project();
    sandbox.write("docs/site/conf.py", "extensions = [\"myst_parser\"]\n");
    sandbox.write("docs/site/frozen.md", MYST);
    sandbox.write("docs/site/api.rst", ".. _api-validators:\n\nValidators\n==========\n");
    sandbox
        .write("docs/site/sub/page.md", "(inner)=\n# Page\n\n[up](../frozen.md) [](how-frozen) [](/api)\n");
    let (found, code) = findings(&sandbox, &["audit", "--fail-on-drift"]);
    assert_eq!(found, Vec::<serde_json::Value>::new());
    assert_eq!(code, Some(0));
    // A file that is gone is gone there too; a label may be one of other docs, so it is told and fails nothing.
    sandbox.write("docs/site/sub/page.md", "(inner)=\n# Page\n\n[x](none.md) [y](no-such-label)\n");
    let (found, code) = findings(&sandbox, &["audit", "--fail-on-drift"]);
    let told: Vec<(&str, &str)> = found
        .iter()
        .map(|finding| (finding["actual"].as_str().unwrap(), finding["severity"].as_str().unwrap()))
        .collect();
    assert_eq!(told, [("none.md", "high"), ("no-such-label", "low")]);
    assert_ne!(code, Some(0));
    // Without that reader they are files, as anywhere.
    sandbox.write("docs/site/conf.py", "extensions = []\n");
    let (found, _) = findings(&sandbox, &["audit"]);
    assert!(found.len() > 5, "{found:#?}");
}

#[test]
fn a_program_that_cannot_be_asked_is_said_and_fails_nothing() {
    let sandbox = project();
    sandbox.write("warp.toml", "[workflow]\ndocs_programs = \"tea=./tools/none\"\n");
    sandbox.write("docs/page.md", "`tea boil`\n");
    let (found, code) = findings(&sandbox, &["audit", "--fail-on-drift"]);
    assert_eq!((found.len(), code), (1, Some(0)));
    assert_eq!(found[0]["expected"], "checked, but `./tools/none --help` does not succeed");
    sandbox.write("warp.toml", "[workflow]\ndocs_programs = \"=x\"\n");
    sandbox.warp(&["docs", "audit"]).ends(78);
}

#[test]
fn the_docs_of_this_project_have_not_drifted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if !root.join(".git").exists() {
        return skip("this is no repository");
    }
    let (place, shell) = (Place::at(&root).unwrap(), Shell::default());
    let audit = Docs::new(&place, &shell, &format!("warp={WARP}")).unwrap().audit().unwrap();
    let found: Vec<String> = audit.findings.iter().map(ToString::to_string).collect();
    assert!(audit.pages >= 15, "{}", audit.pages);
    assert_eq!(found, Vec::<String>::new());
}
