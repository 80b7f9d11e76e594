//! Node: npm with a lock file and a linter of its own, and a workspace of pnpm.

use std::{fs, path::PathBuf, process::Command};

use testkit::Sandbox;

use super::shape::{Code, Shape};

/// The variable that names pnpm's program.
const PNPM: &str = "WARP_TEST_PNPM";

const BEFORE: &str = "export const add = (a, b) => a + b;\n";
const RIGHT: &str = "export const add = (a, b) => a + b;\n\nexport const double = a => add(a, a);\n";
const BROKEN: &str = "export const add = (a, b) => a - b;\n\nexport const double = a => a * 2;\n";

const TESTS: &str = "import assert from 'node:assert/strict';\nimport test from 'node:test';\nimport {add} from '../index.js';\n\ntest('adds', () => assert.equal(add(2, 3), 5));\n";
const TESTS_AFTER: &str = "import assert from 'node:assert/strict';\nimport test from 'node:test';\nimport {add, double} from '../index.js';\n\ntest('adds', () => assert.equal(add(2, 3), 5));\ntest('doubles', () => assert.equal(double(4), 8));\n";

const PACKAGE: &str = r#"{
  "name": "calc",
  "version": "1.0.0",
  "type": "module",
  "exports": "./index.js",
  "scripts": { "test": "tiny-lint index.js && node --test" },
  "devDependencies": { "tiny-lint": "file:tools/tiny-lint" }
}
"#;

const LOCK: &str = r#"{
  "name": "calc",
  "version": "1.0.0",
  "lockfileVersion": 3,
  "requires": true,
  "packages": {
    "": { "name": "calc", "version": "1.0.0", "devDependencies": { "tiny-lint": "file:tools/tiny-lint" } },
    "node_modules/tiny-lint": { "resolved": "tools/tiny-lint", "link": true },
    "tools/tiny-lint": { "version": "1.0.0", "dev": true, "bin": { "tiny-lint": "cli.js" } }
  }
}
"#;

const LINT_PACKAGE: &str = r#"{ "name": "tiny-lint", "version": "1.0.0", "bin": { "tiny-lint": "cli.js" } }
"#;
const LINT: &str = "#!/usr/bin/env node\nconst fs = require('fs');\nfor (const file of process.argv.slice(2)) {\n\tif (/\\bvar\\b/.test(fs.readFileSync(file, 'utf8'))) {\n\t\tconsole.error(`${file}: var`);\n\t\tprocess.exit(1);\n\t}\n}\n";

/// Nothing is asked of a registry, whatever npm or pnpm would like to know.
const OFFLINE: &str = "offline=true\naudit=false\nfund=false\nupdate-notifier=false\n";

const WORKSPACE: &str = "packages:\n  - packages/*\n";
const WORKSPACE_LOCK: &str = "lockfileVersion: '9.0'\n\nsettings:\n  autoInstallPeers: true\n  excludeLinksFromLockfile: false\n\nimporters:\n\n  .: {}\n\n  packages/app:\n    dependencies:\n      calc:\n        specifier: workspace:*\n        version: link:../calc\n\n  packages/calc: {}\n";

pub(crate) fn shapes() -> Vec<Shape> {
    vec![
        Shape::new("npm, lock file, linter", &["node", "npm"], code("index.js", "test/calc.test.js"))
            .with(&[
                ("package.json", PACKAGE),
                ("package-lock.json", LOCK),
                ("tools/tiny-lint/package.json", LINT_PACKAGE),
                ("tools/tiny-lint/cli.js", LINT),
                (".npmrc", OFFLINE),
                (".gitignore", "node_modules/\n"),
            ]),
        Shape::new(
            "pnpm, workspace",
            &["node", PNPM],
            code("packages/calc/index.js", "packages/calc/test/calc.test.js"),
        )
        .with(&[
            ("package.json", r#"{ "name": "all", "private": true, "scripts": { "test": "pnpm --recursive test" } }"#),
            ("pnpm-workspace.yaml", WORKSPACE),
            ("pnpm-lock.yaml", WORKSPACE_LOCK),
            ("packages/calc/package.json", r#"{ "name": "calc", "version": "1.0.0", "type": "module", "exports": "./index.js", "scripts": { "test": "node --test" } }"#),
            ("packages/app/package.json", r#"{ "name": "app", "version": "1.0.0", "type": "module", "dependencies": { "calc": "workspace:*" }, "scripts": { "test": "node --test" } }"#),
            ("packages/app/test/app.test.js", "import assert from 'node:assert/strict';\nimport test from 'node:test';\nimport {add} from 'calc';\n\ntest('the app adds', () => assert.equal(add(1, 1), 2));\n"),
            (".npmrc", OFFLINE),
            (".gitignore", "node_modules/\n"),
        ])
        .set_up(|sandbox, _| with_pnpm(sandbox)),
    ]
}

fn code(source: &'static str, tests: &'static str) -> Code {
    Code {
        source,
        before: BEFORE,
        right: RIGHT,
        broken: BROKEN,
        tests,
        tests_before: TESTS,
        tests_after: TESTS_AFTER,
    }
}

/// Puts pnpm where a person has it: in the home, and in `PATH`.
fn with_pnpm(sandbox: &Sandbox) -> Vec<(&'static str, String)> {
    let program = PathBuf::from(std::env::var(PNPM).unwrap());
    let package = program.ancestors().nth(2).unwrap();
    let local = sandbox.home().join(".local");
    let modules = local.join("lib/node_modules");
    fs::create_dir_all(&modules).unwrap();
    let copied = Command::new("cp").args(["-R", "-L"]).args([package, &modules]).status().unwrap();
    assert!(copied.success(), "{}", package.display());
    let copy = modules.join("pnpm/bin/pnpm.cjs");
    sandbox.program(local.join("bin/pnpm"), &format!("#!/bin/sh\nexec node '{}' \"$@\"\n", copy.display()));
    let path = std::env::var("PATH").unwrap_or_default();
    vec![("PATH", format!("{}:{path}", local.join("bin").display()))]
}
