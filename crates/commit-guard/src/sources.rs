//! Tests in source code: their names, and whether they are skipped.
//!
//! A reader of lines, not a parser: it knows how tests are written in common languages. What it does not recognise is no
//! test. Whoever writes a test in an uncommon way is not held up, and is told apart by the report of the tests.

mod braces;
mod python;
mod script;

use std::path::Path;

/// Whether a test runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Active,
    /// On some machines, or if something holds.
    Conditional,
    Skipped,
}

/// A test in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceTest {
    /// With the groups that it is in: `TestX::test_y`, `adds > two numbers`.
    pub(super) name: String,
    /// From 1.
    pub(super) line: u64,
    pub(super) state: State,
    /// Whether it is written so that only tests like it run.
    pub(super) is_only: bool,
    /// Its lines without the first, trimmed.
    pub(super) body: Vec<String>,
}

/// How a language writes tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Python,
    Script,
    Go,
    Rust,
    Java,
    CSharp,
    Php,
    Ruby,
    Elixir,
}

/// Directories, and parts of names, by which tests are known.
const TEST_PARTS: &[&str] = &["test", "tests", "spec", "specs", "e2e", "acceptance", "features", "it"];
/// Directories in which tests keep their data.
const DATA: &[&str] = &["fixtures", "testdata", "snapshots", "data", "resources", "golden", "mocks"];

/// Returns the tests of a file.
pub(super) fn tests(path: &str, text: &str) -> Vec<SourceTest> {
    let lines: Vec<&str> = text.lines().collect();
    match language(path) {
        Some(Language::Python) => python::tests(&lines),
        Some(Language::Script) => script::tests(&lines, &script::JAVASCRIPT),
        Some(Language::Ruby) => script::tests(&lines, &script::RUBY),
        Some(Language::Elixir) => script::tests(&lines, &script::ELIXIR),
        Some(Language::Go) => braces::go(&lines),
        Some(Language::Rust) => braces::attributed(&lines, &braces::RUST),
        Some(Language::Java) => braces::attributed(&lines, &braces::JAVA),
        Some(Language::CSharp) => braces::attributed(&lines, &braces::CSHARP),
        Some(Language::Php) => braces::attributed(&lines, &braces::PHP),
        None => Vec::new(),
    }
}

/// Tells whether a file is source code whose tests are run: by its name or its directory, and in Rust any.
pub(super) fn may_hold_tests(path: &str) -> bool {
    match language(path) {
        Some(Language::Rust) => true,
        Some(Language::Go) => path.ends_with("_test.go"),
        Some(_) => is_test_file(path),
        None => false,
    }
}

/// Tells whether a file is one of tests by its name or its directory.
pub(super) fn is_test_file(path: &str) -> bool {
    let is_part = |part: &str| TEST_PARTS.contains(&part.trim_matches('_').to_lowercase().as_str());
    let path = Path::new(path);
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let directories: Vec<&str> =
        path.parent().into_iter().flat_map(Path::iter).filter_map(|part| part.to_str()).collect();
    if directories.iter().any(|part| DATA.contains(&part.trim_matches('_').to_lowercase().as_str())) {
        return false;
    }
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let is_java = stem.ends_with("Test") || stem.ends_with("Tests") || stem.starts_with("Test");
    directories.iter().any(|part| is_part(part)) || stem.split(['.', '_', '-']).any(is_part) || is_java
}

fn language(path: &str) -> Option<Language> {
    let ending = Path::new(path).extension()?.to_str()?;
    Some(match ending {
        "py" => Language::Python,
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" | "vue" | "svelte" => Language::Script,
        "go" => Language::Go,
        "rs" => Language::Rust,
        "java" | "kt" | "kts" | "scala" | "groovy" => Language::Java,
        "cs" | "fs" | "vb" => Language::CSharp,
        "php" => Language::Php,
        "rb" => Language::Ruby,
        "ex" | "exs" => Language::Elixir,
        _ => return None,
    })
}

/// Returns how far a line is indented; a tab counts for four.
fn indent(line: &str) -> usize {
    line.chars()
        .take_while(|letter| letter.is_whitespace())
        .map(|letter| if letter == '\t' { 4 } else { 1 })
        .sum()
}

/// Returns the name at the start of a text.
fn word(text: &str) -> &str {
    let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len());
    &text[..end]
}

/// Returns the lines of a block that begins after line `at`: those that are further in, and empty ones.
fn block<'a>(lines: &[&'a str], at: usize) -> Vec<&'a str> {
    let outer = indent(lines[at]);
    let inner = lines[at + 1..].iter().take_while(|line| line.trim().is_empty() || indent(line) > outer);
    inner.copied().collect()
}

fn trimmed(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Returns the weaker of two states.
fn weaker(one: State, other: State) -> State {
    match (one, other) {
        (State::Skipped, _) | (_, State::Skipped) => State::Skipped,
        (State::Conditional, _) | (_, State::Conditional) => State::Conditional,
        (State::Active, State::Active) => State::Active,
    }
}

/// Returns the state of a test whose body skips it: at once, or under a condition.
fn skipped_inside(body: &[&str], signs: &[&str]) -> State {
    let first =
        body.iter().filter(|line| !line.trim().is_empty()).map(|line| indent(line)).min().unwrap_or(0);
    let mut state = State::Active;
    for line in body {
        let text = line.trim();
        if signs.iter().any(|sign| text.starts_with(sign)) {
            state = weaker(state, if indent(line) <= first { State::Skipped } else { State::Conditional });
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(path: &str, text: &str) -> String {
        let one = |test: &SourceTest| {
            let state = match test.state {
                State::Active => "",
                State::Conditional => "?",
                State::Skipped => "!",
            };
            format!("{}{state}{}", test.name, if test.is_only { "*" } else { "" })
        };
        tests(path, text).iter().map(one).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn tests_are_read_with_their_state() {
        for (path, text, expected) in [
            (
                "test_a.py",
                "import pytest\n\ndef helper():\n    pass\n\ndef test_a():\n    assert 1\n\n@pytest.mark.skip(reason='x')\ndef test_b():\n    pass\n\n\
                 @pytest.mark.skipif(sys.platform == 'win32',\n    reason='x')\nasync def test_c():\n    pass\n\nclass TestX:\n    def test_d(self):\n        pytest.skip('no')\n\n    \
                 def test_e(self):\n        if x:\n            pytest.skip('no')\n\n    @pytest.mark.xfail\n    def test_f(self): ...\n",
                "test_a | test_b! | test_c? | TestX::test_d! | TestX::test_e? | TestX::test_f!",
            ),
            ("test_a.py", "pytestmark = pytest.mark.skip\ndef test_a():\n    pass\n", "test_a!"),
            (
                "test_u.py",
                "class T(unittest.TestCase):\n    @unittest.skip('x')\n    def test_a(self):\n        pass\n    def test_b(self):\n        self.skipTest('x')\n\
                 @unittest.skipUnless(x, 'y')\nclass U(unittest.TestCase):\n    def test_c(self):\n        pass\n",
                "T::test_a! | T::test_b! | U::test_c?",
            ),
            (
                "a.test.ts",
                "describe('adds', () => {\n  it('two', () => {});\n  it.skip(\"three\", () => {});\n  xit(`four`, f);\n  test.todo('five');\n  it.only('six', f);\n  \
                 test.each([1])('seven %d', f);\n  describe.skip('deep', () => {\n    it('eight', f);\n  });\n  it(\n    'nine',\n    f);\n  it.skip.each([\n    [1, 2],\n  ])('eleven %d', f);\n});\ntest('ten', { skip: true }, f);\n",
                "adds > two | adds > three! | adds > four! | adds > five! | adds > six* | adds > seven %d | adds > deep > eight! | adds > nine | adds > eleven %d! | ten!",
            ),
            (
                "a_test.go",
                "func TestA(t *testing.T) {\n\tt.Skip(\"x\")\n}\n\nfunc TestB(t *testing.T) {\n\tif testing.Short() {\n\t\tt.Skip()\n\t}\n}\n\nfunc helper() {}\n\nfunc FuzzC(f *testing.F) {\n}\n",
                "TestA! | TestB? | FuzzC",
            ),
            (
                "src/lib.rs",
                "#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() {}\n\n    #[test]\n    #[ignore = \"slow\"]\n    fn b() {}\n\n    #[tokio::test(flavor = \"x\")]\n    async fn c() {}\n\n    \
                 #[cfg_attr(windows, ignore)]\n    #[test]\n    fn d() {}\n\n    fn helper() {}\n}\n",
                "a | b! | c | d?",
            ),
            (
                "src/test/java/FooTest.java",
                "class FooTest {\n  @Test\n  void a() {}\n\n  @Disabled(\"x\")\n  @Test\n  public void b() {}\n\n  @EnabledOnOs(LINUX) @Test void c() {}\n}\n",
                "a | b! | c?",
            ),
            (
                "FooTests.cs",
                "[Fact]\npublic void A() {}\n[Fact(Skip = \"x\")]\npublic async Task B() {}\n",
                "A | B!",
            ),
            (
                "tests/FooTest.php",
                "    public function testA(): void\n    {\n    }\n\n    #[Test]\n    public function b(): void\n    {\n        $this->markTestSkipped('x');\n    }\n",
                "testA | b!",
            ),
            (
                "spec/a_spec.rb",
                "describe Adder do\n  it 'adds' do\n  end\n\n  xit 'later' do\n  end\n\n  it 'is skipped' do\n    skip 'x'\n  end\nend\n",
                "Adder > adds | Adder > later! | Adder > is skipped!",
            ),
            (
                "test/a_test.exs",
                "  describe \"adds\" do\n    test \"two\" do\n    end\n\n    @tag :skip\n    test \"three\" do\n    end\n  end\n",
                "adds > two | adds > three!",
            ),
            ("src/a.txt", "def test_a(): pass", ""),
        ] {
            assert_eq!(shown(path, text), expected, "{path}");
        }
    }

    #[test]
    fn test_files_are_known_and_their_data_is_none() {
        for path in [
            "tests/test_a.py",
            "a.spec.ts",
            "pkg/a_test.go",
            "src/lib.rs",
            "x/FooTest.java",
            "__tests__/a.js",
        ] {
            assert!(may_hold_tests(path), "{path}");
        }
        for path in ["src/a.py", "tests/fixtures/test_x.py", "tests/data.json", "pkg/a.go", "src/contest.js"]
        {
            assert!(!may_hold_tests(path), "{path}");
        }
    }
}
