//! Build script of the examples: 64 KiB of stack instead of the linker's 1 MiB. They
//! recurse nowhere, and every page a fresh instance does not have is time saved.

fn main() {
    println!("cargo::rustc-link-arg=-zstack-size=65536");
    println!("cargo::rerun-if-changed=../small_stack.rs");
}
