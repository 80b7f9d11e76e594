//! Drifts that were planted: each is found, and those that need no judgement are fixed to the letter.

use std::collections::BTreeSet;

use super::support::{findings, project};
use crate::support::InProject as _;

/// A page, and the one thing that is wrong with it.
struct Planted {
    page: &'static str,
    /// Kind, line, severity.
    found: (&'static str, u64, &'static str),
    actual: &'static str,
    expected: &'static str,
    /// The page when it was fixed; nothing if that needs a person.
    fixed: Option<&'static str>,
}

const fn planted(
    page: &'static str,
    found: (&'static str, u64, &'static str),
    actual: &'static str,
    expected: &'static str,
    fixed: Option<&'static str>,
) -> Planted {
    Planted { page, found, actual, expected, fixed }
}

/// The pages are in `docs/planted/`.
const PLANTED: &[Planted] = &[
    // Links whose file is gone.
    planted(
        "[x](nowhere.md)\n",
        ("link", 1, "high"),
        "nowhere.md",
        "a path that is there: `docs/planted/nowhere.md` is gone",
        None,
    ),
    planted(
        "# A\n\ntext\n[x](../gone/)\n",
        ("link", 4, "high"),
        "../gone/",
        "a path that is there: `docs/gone` is gone",
        None,
    ),
    planted(
        "[x](/missing.txt)\n",
        ("link", 1, "high"),
        "/missing.txt",
        "a path that is there: `missing.txt` is gone",
        None,
    ),
    planted(
        "[x](../../a/none.md#twin)\n",
        ("link", 1, "high"),
        "../../a/none.md#twin",
        "a path that is there: `a/none.md` is gone",
        None,
    ),
    planted(
        "[x](twin.md)\n",
        ("link", 1, "high"),
        "twin.md",
        "a path that is there: `docs/planted/twin.md` is gone",
        None,
    ),
    planted(
        "![picture](none.png)\n",
        ("link", 1, "high"),
        "none.png",
        "a path that is there: `docs/planted/none.png` is gone",
        None,
    ),
    planted(
        "<img src=\"none.svg\">\n",
        ("link", 1, "high"),
        "none.svg",
        "a path that is there: `docs/planted/none.svg` is gone",
        None,
    ),
    planted(
        "text <a href='none.html'>x</a>\n",
        ("link", 1, "high"),
        "none.html",
        "a path that is there: `docs/planted/none.html` is gone",
        None,
    ),
    planted(
        "> - [x](none%20here.md)\n",
        ("link", 1, "high"),
        "none%20here.md",
        "a path that is there: `docs/planted/none here.md` is gone",
        None,
    ),
    planted(
        "[x][label]\n\n[label]: none.md\n",
        ("link", 3, "high"),
        "none.md",
        "a path that is there: `docs/planted/none.md` is gone",
        None,
    ),
    planted(
        "[x][nobody]\n",
        ("link", 1, "medium"),
        "[nobody]",
        "a link whose label is defined on the page",
        None,
    ),
    // Links whose file was removed: another of the same name is no successor.
    planted(
        "[x](../../api/kettle.md)\n",
        ("link", 1, "high"),
        "../../api/kettle.md",
        "a path that is there: `api/kettle.md` is gone",
        None,
    ),
    planted(
        "[x](../../api/index.md)\n",
        ("link", 1, "high"),
        "../../api/index.md",
        "a path that is there: `api/index.md` is gone",
        None,
    ),
    // A name that every directory may have tells nothing.
    planted(
        "[x](index.md)\n",
        ("link", 1, "high"),
        "index.md",
        "a path that is there: `docs/planted/index.md` is gone",
        None,
    ),
    // Links whose file was moved, or is the only one of its name.
    planted(
        "[x](../first.md)\n",
        ("link", 1, "high"),
        "../first.md",
        "../manual/third.md",
        Some("[x](../manual/third.md)\n"),
    ),
    planted(
        "[x](../first.md#top)\n",
        ("link", 1, "high"),
        "../first.md#top",
        "../manual/third.md#top",
        Some("[x](../manual/third.md#top)\n"),
    ),
    planted(
        "[x](/docs/first.md \"first\")\n",
        ("link", 1, "high"),
        "/docs/first.md",
        "/docs/manual/third.md",
        Some("[x](/docs/manual/third.md \"first\")\n"),
    ),
    planted(
        "[x](../manual/second.md)\n",
        ("link", 1, "high"),
        "../manual/second.md",
        "../manual/third.md",
        Some("[x](../manual/third.md)\n"),
    ),
    planted(
        "![l](../../pictures/logo.png)\n",
        ("link", 1, "high"),
        "../../pictures/logo.png",
        "../../assets/logo.png",
        Some("![l](../../assets/logo.png)\n"),
    ),
    planted(
        "![l](<../../pictures/my tea.png>)\n",
        ("link", 1, "high"),
        "../../pictures/my tea.png",
        "../../assets/my%20tea.png",
        Some("![l](<../../assets/my%20tea.png>)\n"),
    ),
    planted(
        "[x](../../src/parser.rs?plain=1#L3)\n",
        ("link", 1, "high"),
        "../../src/parser.rs?plain=1#L3",
        "../../src/read/parser.rs?plain=1#L3",
        Some("[x](../../src/read/parser.rs?plain=1#L3)\n"),
    ),
    planted(
        "| a | b |\n|---|---|\n| 1 | [x](../first.md) |\n",
        ("link", 3, "high"),
        "../first.md",
        "../manual/third.md",
        Some("| a | b |\n|---|---|\n| 1 | [x](../manual/third.md) |\n"),
    ),
    planted(
        "[x] and [x][]\n\n[x]: ../first.md 'title'\n",
        ("link", 3, "high"),
        "../first.md",
        "../manual/third.md",
        Some("[x] and [x][]\n\n[x]: ../manual/third.md 'title'\n"),
    ),
    planted(
        "[x](deep.md)\n",
        ("link", 1, "high"),
        "deep.md",
        "../sub/deep.md",
        Some("[x](../sub/deep.md)\n"),
    ),
    planted(
        "<a href=\"../first.md\">x</a>\n",
        ("link", 1, "high"),
        "../first.md",
        "../manual/third.md",
        Some("<a href=\"../manual/third.md\">x</a>\n"),
    ),
    planted(
        "[`first`](../first.md)\r\nmore\r\n",
        ("link", 1, "high"),
        "../first.md",
        "../manual/third.md",
        Some("[`first`](../manual/third.md)\r\nmore\r\n"),
    ),
    // Anchors.
    planted(
        "# One\n\n[x](#two)\n",
        ("anchor", 3, "medium"),
        "#two",
        "a heading of docs/planted/N.md whose anchor is `#two`",
        None,
    ),
    planted(
        "[x](../guide.md#nothing-like-it)\n",
        ("anchor", 1, "medium"),
        "../guide.md#nothing-like-it",
        "a heading of docs/guide.md whose anchor is `#nothing-like-it`",
        None,
    ),
    planted(
        "[x](../guide.md#same-length-c)\n",
        ("anchor", 1, "medium"),
        "../guide.md#same-length-c",
        "a heading of docs/guide.md whose anchor is `#same-length-c`",
        None,
    ),
    planted(
        "# First steps\n\n[x](#first-step)\n",
        ("anchor", 3, "medium"),
        "#first-step",
        "#first-steps",
        Some("# First steps\n\n[x](#first-steps)\n"),
    ),
    planted(
        "[x](../guide.md#First-Steps)\n",
        ("anchor", 1, "medium"),
        "../guide.md#First-Steps",
        "../guide.md#first-steps",
        Some("[x](../guide.md#first-steps)\n"),
    ),
    planted(
        "[x](../guide.md#whats-new-in-20-)\n",
        ("anchor", 1, "medium"),
        "../guide.md#whats-new-in-20-",
        "../guide.md#whats-new-in-20",
        Some("[x](../guide.md#whats-new-in-20)\n"),
    ),
    planted(
        "[x](../guide.md#notes-2)\n",
        ("anchor", 1, "medium"),
        "../guide.md#notes-2",
        "a heading of docs/guide.md whose anchor is `#notes-2`",
        None,
    ),
    planted(
        "[x](../guide.md#by_hand)\n",
        ("anchor", 1, "medium"),
        "../guide.md#by_hand",
        "../guide.md#by-hand",
        Some("[x](../guide.md#by-hand)\n"),
    ),
    planted(
        "[x][g]\n\n[g]: ../guide.md#setex\n",
        ("anchor", 3, "medium"),
        "../guide.md#setex",
        "../guide.md#setext",
        Some("[x][g]\n\n[g]: ../guide.md#setext\n"),
    ),
    // Commands and flags.
    planted("```sh\ntea boil\n```\n", ("command", 2, "high"), "tea boil", "known to `tea --help`", None),
    planted(
        "Use `tea brwe 2`.\n",
        ("command", 1, "high"),
        "tea brwe",
        "known to `tea --help`; it has `brew`",
        None,
    ),
    planted(
        "```console\n$ tea cup drop\nno\n```\n",
        ("command", 2, "high"),
        "tea cup drop",
        "known to `tea cup --help`",
        None,
    ),
    planted(
        "`tea cup wash|melt`\n",
        ("command", 1, "high"),
        "tea cup melt",
        "known to `tea cup --help`",
        None,
    ),
    planted(
        "```text\ntea stir [--json]\n```\n",
        ("command", 2, "high"),
        "tea stir",
        "known to `tea --help`",
        None,
    ),
    planted(
        "`tea brew --weak`\n",
        ("flag", 1, "high"),
        "tea brew --weak",
        "known to `tea brew --help`",
        None,
    ),
    planted(
        "`tea brew [--minute N]`\n",
        ("flag", 1, "high"),
        "tea brew --minute",
        "known to `tea brew --help`; it has `--minutes`",
        None,
    ),
    planted(
        "```bash\nX=1 tea pour && tea brew -x\n```\n",
        ("flag", 2, "high"),
        "tea brew -x",
        "known to `tea brew --help`",
        None,
    ),
    planted(
        "```sh\ntea cup wash \\\n  --cold\n```\n",
        ("flag", 2, "high"),
        "tea cup wash --cold",
        "known to `tea cup wash --help`",
        None,
    ),
    planted(
        "```sh\ntea -C brew cup --hot fill\n```\n",
        ("flag", 2, "high"),
        "tea cup --hot",
        "known to `tea cup --help`",
        None,
    ),
    // Paths.
    planted("See `src/old.rs`.\n", ("path", 1, "high"), "src/old.rs", "a path that is there", None),
    planted("See `src/old.rs:12`.\n", ("path", 1, "high"), "src/old.rs", "a path that is there", None),
    planted("All of `old/` is new.\n", ("path", 1, "high"), "old/", "a path that is there", None),
    planted(
        "See `src/parser.rs`.\n",
        ("path", 1, "high"),
        "src/parser.rs",
        "src/read/parser.rs",
        Some("See `src/read/parser.rs`.\n"),
    ),
    planted(
        "See ``src/parser.rs:3``.\n",
        ("path", 1, "high"),
        "src/parser.rs",
        "src/read/parser.rs",
        Some("See ``src/read/parser.rs:3``.\n"),
    ),
    planted("See `src/never.rs`.\n", ("path", 1, "low"), "src/never.rs", "a file in `src`", None),
    // Counts, tables and marks.
    planted(
        "<!-- warp:count lib/*.rs -->3<!-- /warp:count --> files\n",
        ("count", 1, "medium"),
        "3",
        "2",
        Some("<!-- warp:count lib/*.rs -->2<!-- /warp:count --> files\n"),
    ),
    planted(
        "There are <!-- warp:count src/**/*.rs -->some<!-- /warp:count -->.\n",
        ("count", 1, "medium"),
        "some",
        "2",
        Some("There are <!-- warp:count src/**/*.rs -->2<!-- /warp:count -->.\n"),
    ),
    planted(
        "- <!-- warp:count **/twin.md --><!-- /warp:count --> twins\n",
        ("count", 1, "medium"),
        "",
        "2",
        Some("- <!-- warp:count **/twin.md -->2<!-- /warp:count --> twins\n"),
    ),
    planted(
        "<!-- warp:table tea leaves --table -->\nold\n<!-- /warp:table -->\n",
        ("table", 1, "medium"),
        "\nold\n",
        "\n| leaf | minutes |\n|---|---|\n| green | 2 |\n",
        Some(
            "<!-- warp:table tea leaves --table -->\n| leaf | minutes |\n|---|---|\n| green | 2 |\n<!-- /warp:table -->\n",
        ),
    ),
    planted(
        "<!-- warp:table rm -rf src -->\n<!-- /warp:table -->\n",
        ("mark", 1, "medium"),
        "<!-- warp:table rm -rf src -->",
        "a command of a program that `docs_programs` names",
        None,
    ),
    planted(
        "<!-- warp:table tea pour; ls -->\n<!-- /warp:table -->\n",
        ("mark", 1, "medium"),
        "<!-- warp:table tea pour; ls -->",
        "a command of plain words",
        None,
    ),
    planted(
        "<!-- warp:table tea spill -->\n<!-- /warp:table -->\n",
        ("mark", 1, "medium"),
        "<!-- warp:table tea spill -->",
        "a command that succeeds: it ended with exit 2",
        None,
    ),
    planted(
        "a\n\n<!-- warp:count *.rs -->3\n",
        ("mark", 3, "medium"),
        "<!-- warp:count *.rs -->",
        "followed by `<!-- /warp:count -->`",
        None,
    ),
    planted(
        "<!-- warp:cuont x -->3<!-- /warp:cuont -->\n",
        ("mark", 1, "medium"),
        "<!-- warp:cuont x -->",
        "one of `warp:count`, `warp:table` and `warp:ignore`",
        None,
    ),
];

#[test]
fn every_planted_drift_is_found_and_mended_to_the_letter() {
    const { assert!(PLANTED.len() >= 40) };
    let sandbox = project();
    let name = |index: usize| format!("docs/planted/{index}.md");
    for (index, planted) in PLANTED.iter().enumerate() {
        sandbox.write(&name(index), planted.page);
    }
    let (found, code) = findings(&sandbox, &["audit", "--fail-on-drift"]);
    assert_eq!(code, Some(1));
    for (index, planted) in PLANTED.iter().enumerate() {
        let file = name(index);
        let of_page: Vec<_> = found.iter().filter(|finding| finding["file"] == file.as_str()).collect();
        let [finding] = of_page.as_slice() else { panic!("{:?}: {of_page:#?}", planted.page) };
        let (kind, line, severity) = planted.found;
        let fix_kind = if planted.fixed.is_some() { "mechanical" } else { "manual" };
        let expected = planted.expected.replace("/N.md", &format!("/{index}.md"));
        assert!(finding["id"].as_str().unwrap().starts_with(&format!("{kind}-")), "{finding:#}");
        assert_eq!(finding["line"], line, "{:?}", planted.page);
        assert_eq!(finding["severity"], severity, "{:?}", planted.page);
        assert_eq!(finding["fix_kind"], fix_kind, "{:?}: {finding:#}", planted.page);
        assert_eq!(finding["actual"], planted.actual, "{:?}", planted.page);
        assert_eq!(finding["expected"], expected.as_str(), "{:?}", planted.page);
    }
    let ids: BTreeSet<_> = found.iter().map(|finding| finding["id"].to_string()).collect();
    assert_eq!((ids.len(), found.len()), (PLANTED.len(), PLANTED.len()), "nothing else is found");

    let (fixed, code) = findings(&sandbox, &["sync"]);
    assert_eq!(code, Some(0));
    assert_eq!(fixed.len(), PLANTED.iter().filter(|planted| planted.fixed.is_some()).count());
    for (index, planted) in PLANTED.iter().enumerate() {
        let page = sandbox.read(&name(index)).unwrap();
        assert_eq!(page, planted.fixed.unwrap_or(planted.page));
    }
    let (left, _) = findings(&sandbox, &["audit"]);
    assert!(left.iter().all(|finding| finding["fix_kind"] == "manual"), "{left:#?}");
    assert_eq!(findings(&sandbox, &["sync"]).0.len(), 0, "what was fixed stays as it is");
}

#[test]
fn only_high_severity_fails_an_audit() {
    let sandbox = project();
    sandbox.write("docs/page.md", "`src/never.rs` and <!-- warp:count lib/*.rs -->9<!-- /warp:count -->\n");
    let (found, code) = findings(&sandbox, &["audit", "--fail-on-drift"]);
    assert_eq!((found.len(), code), (2, Some(0)));
    sandbox.write("README.md", "[x](none.md)\n");
    assert_eq!(findings(&sandbox, &["audit"]).1, Some(0), "it is only asked for a list");
    assert_eq!(findings(&sandbox, &["audit", "--fail-on-drift"]).1, Some(1));
    let said = sandbox.warp(&["docs", "audit"]);
    insta::assert_snapshot!(sandbox.stable(&said.out), @"
    README.md:1: `none.md` should be a path that is there: `none.md` is gone [high, link-e584caab]
    docs/page.md:1: `src/never.rs` should be a file in `src` [low, path-03905888]
    docs/page.md:1: `9` should be 2 [medium, count-dc2f7b44, `warp docs sync` fixes it]
    ");
    insta::assert_snapshot!(sandbox.stable(&said.err), @"3 drifts found on 6 pages, 1 of which `warp docs sync` fixes");
}
