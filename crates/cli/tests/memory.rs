//! What the static build has in place of a part of its C library does the same.

#![cfg(target_arch = "x86_64")]

use std::{path::Path, process::Command};

#[test]
fn memory_is_copied_moved_and_compared_as_byte_by_byte() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("memory");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-ffreestanding", "-fno-tree-loop-distribute-patterns"]);
    // Under names of their own, so that only what is compared uses them.
    compiler.args(["memcpy", "memmove", "memcmp"].map(|name| format!("-D{name}=own_{name}")));
    compiler.arg(here.join("src/memory.c")).arg(here.join("tests/memory.c")).arg("-o").arg(&program);
    let compiled = compiler.output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let compared = Command::new(&program).output().unwrap();
    let said = String::from_utf8_lossy(&compared.stdout);
    assert!(compared.status.success(), "{:?}: {said}", compared.status);
    let checks: usize = said.trim().trim_end_matches(" checks").parse().unwrap();
    assert!(checks > 100_000, "{said}");
}
