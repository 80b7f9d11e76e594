//! Compiles what SQLite is given instead of a function of the C library.

fn main() {
    println!("cargo::rerun-if-changed=src/owner.c");
    cc::Build::new().file("src/owner.c").cargo_metadata(false).compile("owner");
    let directory = std::env::var("OUT_DIR").expect("cargo says where to build");
    println!("cargo::rustc-link-search=native={directory}");
    // Whole, because the linker meets SQLite, which calls it, only later.
    println!("cargo::rustc-link-lib=static:+whole-archive=owner");
}
