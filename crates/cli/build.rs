//! Makes the static build start fast: a part of its C library is replaced, and functions that are run together lie together.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=src/memory.c");
    println!("cargo::rerun-if-changed=layout.ld");
    let is = |name: &str, wanted: &str| env::var(name).is_ok_and(|found| found == wanted);
    if is("CARGO_CFG_TARGET_ARCH", "x86_64") && is("CARGO_CFG_TARGET_ENV", "musl") {
        // The compiler must not see a call of `memcpy` in the loop that is one.
        cc::Build::new()
            .file("src/memory.c")
            .flag("-ffreestanding")
            .flag_if_supported("-fno-tree-loop-distribute-patterns")
            .compile("memory");
        let directory = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo::rustc-link-arg-bins=-T{directory}/layout.ld");
    }
}
