//! Thirty changes that are held, each for its reason, and thirty ordinary ones of which none is: in real git repositories.

use std::{fs, os::unix::fs::symlink, path::Path};

use testkit::Sandbox;

use super::*;

/// What is done to a tree: files that are there before, and what becomes of them.
struct Case {
    name: &'static str,
    before: Vec<(&'static str, String)>,
    /// A text, or nothing where the file is removed.
    after: Vec<(&'static str, Option<String>)>,
    links: Vec<(&'static str, &'static str)>,
    /// Kind and path of what is held.
    held: Vec<(HeldKind, &'static str)>,
}

fn pointer(digit: char) -> String {
    let id = digit.to_string().repeat(64);
    format!("version https://git-lfs.github.com/spec/v1\noid sha256:{id}\nsize 8\n")
}

fn case(name: &'static str) -> Case {
    Case { name, before: Vec::new(), after: Vec::new(), links: Vec::new(), held: Vec::new() }
}

impl Case {
    fn had(mut self, path: &'static str, text: impl Into<String>) -> Self {
        self.before.push((path, text.into()));
        self
    }

    fn gets(mut self, path: &'static str, text: impl Into<String>) -> Self {
        self.after.push((path, Some(text.into())));
        self
    }

    fn loses(mut self, path: &'static str) -> Self {
        self.after.push((path, None));
        self
    }

    fn links(mut self, path: &'static str, target: &'static str) -> Self {
        self.links.push((path, target));
        self
    }

    fn held(mut self, kind: HeldKind, path: &'static str) -> Self {
        self.held.push((kind, path));
        self
    }

    /// Makes the change, and returns what is held of it.
    fn judged(&self, sandbox: &Sandbox) -> Vec<Held> {
        let root = sandbox.root();
        sandbox.write("README.md", "# A project\n");
        for (path, text) in &self.before {
            sandbox.write(path, text);
        }
        sandbox.git(&["add", "--all", "--force"]);
        sandbox.git(&["commit", "--quiet", "--allow-empty", "-m", "chore: before"]);
        for (path, text) in &self.after {
            match text {
                Some(text) => sandbox.write(path, text),
                None => fs::remove_file(root.join(path)).unwrap(),
            }
        }
        for (path, target) in &self.links {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink(target, path).unwrap();
        }
        let held = judged(&root);
        sandbox.git(&["reset", "--quiet", "--hard"]);
        sandbox.git(&["clean", "--quiet", "-ffdx"]);
        sandbox.git(&["rm", "--quiet", "-r", "--ignore-unmatch", "."]);
        sandbox.git(&["commit", "--quiet", "--allow-empty", "-m", "chore: nothing"]);
        held
    }
}

fn judged(root: &Path) -> Vec<Held> {
    let git = adapters::git::Git::new(root);
    let prepared = git.prepare(Vec::new()).unwrap();
    let change = look(&git, root, &prepared).unwrap();
    let limits = Limits { file: 5 * 1024 * 1024, new_files: 200 };
    judge(&change, &limits, &Secrets::default())
}

fn check(cases: Vec<Case>) {
    let sandbox = Sandbox::new("warp");
    let mut wrong = Vec::new();
    for case in &cases {
        let found = case.judged(&sandbox);
        let shown: Vec<(HeldKind, &str)> = found.iter().map(|held| (held.kind, held.path.as_str())).collect();
        if shown != case.held {
            let said: Vec<String> = found.iter().map(|held| format!("{:?} {held}", held.kind)).collect();
            wrong.push(format!("{}: wanted {:?}, got {said:?}", case.name, case.held));
        }
        // What looks like a secret is never repeated.
        assert!(found.iter().all(|held| !held.to_string().contains("Qz7")), "{found:?}");
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    assert!(cases.len() >= 30);
}

/// Makes what looks random, so that no secret stands in this file.
fn random(start: &str, length: usize) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(LETTERS[(state % LETTERS.len() as u64) as usize])
    };
    let text: String = (3..length).map(|_| next()).collect();
    format!("{start}Qz7{text}")
}

fn key() -> String {
    format!(
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n{}\n-----END RSA PRIVATE KEY-----\n",
        random("MII", 61),
        random("x", 63)
    )
}

const PY: &str = "import app\n\n\ndef test_adds():\n    assert app.add(1, 2) == 3\n\n\ndef test_empty_list_is_zero():\n    assert app.total([]) == 0\n";
const JS: &str = "describe('add', () => {\n  it('adds two numbers', () => {\n    expect(add(1, 2)).toBe(3);\n  });\n\n  it('knows zero', () => {\n    expect(add(0, 0)).toBe(0);\n  });\n});\n";
const GO: &str = "package a\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal(\"no\")\n\t}\n}\n";
const RS: &str = "pub fn add(a: u64, b: u64) -> u64 {\n    a + b\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn two_numbers_are_added() {\n        assert_eq!(add(1, 2), 3);\n    }\n\n    #[test]\n    fn nothing_is_zero() {\n        assert_eq!(add(0, 0), 0);\n    }\n}\n";
const JAVA: &str = "class AddTest {\n  @Test\n  void adds() {\n    assertEquals(3, Add.of(1, 2));\n  }\n}\n";
const PACKAGE: &str = "{\n  \"scripts\": {\n    \"test\": \"eslint . && jest\"\n  }\n}\n";

#[test]
fn thirty_changes_are_held_for_their_reasons() {
    use HeldKind::*;
    let many = (0..201).fold(case("many new files"), |case, n| {
        let path: &'static str = Box::leak(format!("gen/f{n}.txt").into_boxed_str());
        case.gets(path, format!("{n}\n"))
    });
    check(vec![
        case("a GitHub token")
            .gets("src/client.py", format!("TOKEN = \"{}\"\n", random("ghp_", 36)))
            .held(Secret, "src/client.py"),
        case("an AWS key")
            .gets(
                "deploy.sh",
                format!(
                    "export AWS_ACCESS_KEY_ID={}\n",
                    random("AKIA", 60).to_uppercase().get(..20).unwrap()
                ),
            )
            .held(Secret, "deploy.sh"),
        case("a private key").gets("certs/server.pem", key()).held(Secret, "certs/server.pem"),
        case("a key in a line of a program")
            .gets("a.go", format!("const key = \"{}\"\n", key().replace('\n', "\\n")))
            .held(Secret, "a.go"),
        case("a password in an address")
            .gets("settings.toml", format!("db = \"postgres://app:{}@db.acme.dev/app\"\n", random("", 18)))
            .held(Secret, "settings.toml"),
        case("a named secret in .env")
            .gets(".env", format!("STRIPE_SECRET={}\n", random("", 32)))
            .held(Secret, ".env"),
        case("an npm token")
            .had(".npmrc", "save-exact=true\n")
            .gets(
                ".npmrc",
                format!("save-exact=true\n//registry.npmjs.org/:_authToken={}\n", random("npm_", 36)),
            )
            .held(Secret, ".npmrc"),
        case("a large file").gets("model.bin", "x".repeat(5 * 1024 * 1024 + 1)).held(LargeFile, "model.bin"),
        case("a large text in place of a small one")
            .had("data.csv", "a,b\n")
            .gets("data.csv", "a,b\n".repeat(1_500_000))
            .held(LargeFile, "data.csv"),
        case("the content of Git LFS in the place of its pointer")
            .had("model.bin", pointer('a'))
            .gets("model.bin", "weights\n")
            .held(LfsContent, "model.bin"),
        many.held(ManyFiles, "gen"),
        case("node_modules")
            .gets("web/node_modules/left-pad/index.js", "module.exports = 1\n")
            .gets("web/node_modules/left-pad/package.json", "{}\n")
            .gets("web/index.js", "x\n")
            .held(DependencyDirectory, "web/node_modules"),
        case("a Python environment by its marker")
            .gets("env/pyvenv.cfg", "home = /usr/bin\n")
            .gets("env/lib/x.py", "1\n")
            .held(DependencyDirectory, "env"),
        case("bytecode")
            .had("pkg/a.py", "x = 1\n")
            .gets("pkg/__pycache__/a.cpython-311.pyc", "\0\0")
            .held(DependencyDirectory, "pkg/__pycache__"),
        case("a build directory with a tag")
            .gets("target/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n")
            .gets("target/debug/app", "\0")
            .held(DependencyDirectory, "target"),
        case("an absolute link").links("data", "/var/lib/app/data").held(Link, "data"),
        case("a link beyond the root").links("a/b/up", "../../../secret").held(Link, "a/b/up"),
        case("a link into git's directory").links("hooks", ".git/hooks").held(Link, "hooks"),
        case("a test file that is removed")
            .had("tests/test_a.py", PY)
            .had("src/app.py", "x = 1\n")
            .loses("tests/test_a.py")
            .gets("src/app.py", "x = 2\n")
            .held(DeletedTest, "tests/test_a.py"),
        case("a test function that is removed")
            .had("tests/test_a.py", PY)
            .gets("tests/test_a.py", PY.split("\n\n\ndef test_empty").next().unwrap())
            .held(DeletedTest, "tests/test_a.py"),
        case("a Rust test whose attribute is removed")
            .had("src/lib.rs", RS)
            .gets("src/lib.rs", RS.replacen("    #[test]\n    fn nothing", "    fn nothing", 1))
            .held(DeletedTest, "src/lib.rs"),
        case("a test that is commented out")
            .had("a_test.go", GO)
            .gets(
                "a_test.go",
                GO.lines()
                    .map(|line| {
                        if line.starts_with("package") { format!("{line}\n") } else { format!("// {line}\n") }
                    })
                    .collect::<String>(),
            )
            .held(DeletedTest, "a_test.go"),
        case("pytest.mark.skip")
            .had("tests/test_a.py", PY)
            .gets(
                "tests/test_a.py",
                PY.replace("def test_adds", "@pytest.mark.skip(reason=\"flaky\")\ndef test_adds"),
            )
            .held(SkippedTest, "tests/test_a.py"),
        case("skipif on a test from before")
            .had("tests/test_a.py", PY)
            .gets(
                "tests/test_a.py",
                PY.replace("def test_adds", "@pytest.mark.skipif(True, reason=\"x\")\ndef test_adds"),
            )
            .held(SkippedTest, "tests/test_a.py"),
        case("it.skip")
            .had("a.test.js", JS)
            .gets("a.test.js", JS.replace("it('knows zero'", "it.skip('knows zero'"))
            .held(SkippedTest, "a.test.js"),
        case("it.only")
            .had("a.test.js", JS)
            .gets("a.test.js", JS.replace("it('knows zero'", "it.only('knows zero'"))
            .held(SkippedTest, "a.test.js"),
        case("#[ignore]")
            .had("src/lib.rs", RS)
            .gets(
                "src/lib.rs",
                RS.replacen("    #[test]\n    fn nothing", "    #[test]\n    #[ignore]\n    fn nothing", 1),
            )
            .held(SkippedTest, "src/lib.rs"),
        case("t.Skip")
            .had("a_test.go", GO)
            .gets("a_test.go", GO.replace("\tif Add(", "\tt.Skip(\"later\")\n\tif Add("))
            .held(SkippedTest, "a_test.go"),
        case("@Disabled")
            .had("src/test/java/AddTest.java", JAVA)
            .gets("src/test/java/AddTest.java", JAVA.replace("  @Test", "  @Disabled\n  @Test"))
            .held(SkippedTest, "src/test/java/AddTest.java"),
        case("a script that tests less")
            .had("package.json", PACKAGE)
            .gets("package.json", PACKAGE.replace("eslint . && jest", "jest -t add || true"))
            .held(NarrowedTests, "package.json"),
        case("settings of pytest that leave files out")
            .had("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"-q\"\n")
            .gets("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"-q --ignore=tests/slow\"\n")
            .held(NarrowedTests, "pyproject.toml"),
    ]);
}

#[test]
fn thirty_ordinary_changes_are_not_held() {
    let few = (0..200).fold(case("as many new files as may be"), |case, n| {
        let path: &'static str = Box::leak(format!("src/f{n}.txt").into_boxed_str());
        case.gets(path, format!("{n}\n"))
    });
    let more = format!("{PY}\n\ndef test_negative():\n    assert app.add(-1, 1) == 0\n");
    check(vec![
        case("a new function and its test").had("tests/test_a.py", PY).gets("tests/test_a.py", more).gets("src/app.py", "def add(a, b):\n    return a + b\n"),
        case("a test that is renamed").had("tests/test_a.py", PY).gets("tests/test_a.py", PY.replace("test_empty_list_is_zero", "test_no_numbers_give_nothing")),
        case("a test with another body").had("tests/test_a.py", PY).gets("tests/test_a.py", PY.replace("app.total([]) == 0", "app.total([]) is None")),
        case("a test file that is moved").had("tests/test_a.py", PY).loses("tests/test_a.py").gets("tests/unit/test_app.py", PY),
        case("tests that move to two files").had("a.test.js", JS).loses("a.test.js").gets("b.test.js", "it('adds two numbers', () => {});\n").gets("c.test.js", "it('knows zero', () => {});\n"),
        case("a new test for one system").had("tests/test_a.py", PY).gets("tests/test_a.py", format!("{PY}\n\n@pytest.mark.skipif(sys.platform == \"win32\", reason=\"paths\")\ndef test_paths():\n    assert 1\n")),
        case("a new Go test that may be short").gets("a_test.go", "package a\n\nfunc TestSlow(t *testing.T) {\n\tif testing.Short() {\n\t\tt.Skip(\"slow\")\n\t}\n}\n"),
        case("a skipped test that moves").had("a.test.js", "it.skip('later', () => {});\n").loses("a.test.js").gets("b.test.js", "it.skip('later', () => {});\n"),
        case("a skipped test that runs again").had("src/lib.rs", RS.replace("    #[test]\n    fn nothing", "    #[test]\n    #[ignore]\n    fn nothing")).gets("src/lib.rs", RS),
        case("a skipped test that is removed").had("a.test.js", format!("{JS}it.skip('never', () => {{}});\n")).gets("a.test.js", JS),
        case("a function that is called skip").gets("src/parse.rs", "pub fn skip(n: usize) -> usize {\n    n\n}\n").gets("src/only.js", "list.only('x'); it.skip;\n"),
        case("a fixture that is removed").had("tests/fixtures/old.json", "{}\n").loses("tests/fixtures/old.json").gets("src/a.py", "x = 1\n"),
        case("a source file that is removed").had("src/old.py", "def old():\n    pass\n").loses("src/old.py"),
        case("the documented AWS key").gets("tests/test_s3.py", "KEY = \"AKIAIOSFODNN7EXAMPLE\"\nSECRET = \"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\"\n\n\ndef test_s3():\n    assert KEY\n"),
        case("a lock file").gets("package-lock.json", "{\n  \"integrity\": \"sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg==\"\n}\n"),
        case("hashes of a Cargo.lock").gets("Cargo.lock", "[[package]]\nname = \"a\"\nchecksum = \"d468802bab17cbc0cc575e9b053f41e72aa36bfa6b7f55e3529ffa43161b97fa\"\n"),
        case("ids").gets("ids.json", "{\"key\": \"123e4567-e89b-12d3-a456-426614174000\"}\n"),
        case("a variable that is read").gets("src/a.py", "token = os.environ[\"GITHUB_TOKEN\"]\npassword = config.get(\"database.password2\")\n"),
        case("an example of settings").gets(".env.example", "API_KEY=your-api-key-goes-here-123\nDATABASE_URL=postgres://user:password@localhost/app\n"),
        case("a workflow with secrets").gets(".github/workflows/ci.yml", "env:\n  TOKEN: ${{ secrets.DEPLOY_TOKEN_2 }}\n"),
        case("a secret that was there before").had("old.py", format!("TOKEN = \"{}\"\n", random("ghp_", 36))).gets("old.py", format!("# Old.\nTOKEN = \"{}\"\n", random("ghp_", 36))),
        case("a pointer of Git LFS").had("model.bin", pointer('a')).gets("model.bin", pointer('b')),
        case("a file that is just not large").gets("a.bin", "x".repeat(5 * 1024 * 1024)),
        case("a vendored directory from before").had("vendor/lib/a.go", "package lib\n").had("vendor/modules.txt", "# x\n").gets("vendor/lib/b.go", "package lib\n"),
        case("a tracked directory called target").had("target/linux/main.c", "int x;\n").gets("target/linux/new.c", "int y;\n"),
        case("a tracked cache").had(".cache/keep.json", "{}\n").gets(".cache/more.json", "{}\n"),
        few,
        case("a link in the tree").had("docs/a.md", "# A\n").links("docs/latest", "a.md").links("pkg/shared", "../docs"),
        case("a script that does more").had("package.json", PACKAGE).gets("package.json", PACKAGE.replace("eslint . && jest", "eslint . && jest --coverage")),
        case("a Makefile with another target").had("Makefile", "test:\n\tpytest\n").gets("Makefile", "test:\n\tpytest\n\nlint:\n\truff check . || true\n"),
        case("a configuration with another setting").had("pyproject.toml", "[project]\nname = \"a\"\n").gets("pyproject.toml", "[project]\nname = \"a\"\nversion = \"1.0\"\n\n[tool.ruff]\nline-length = 100\n"),
    ]);
}
