//! Makes the snapshot that every guest starts from: the web platform and our own scripts,
//! evaluated once. Loading it is most of what starting a guest costs, so only what guests
//! use is in it.

#![allow(dead_code, reason = "the ops are compiled here for their names and shapes only")]

#[path = "src/console.rs"]
mod console;
#[path = "src/ops.rs"]
mod ops;

use std::{env, fs, path::PathBuf};

use seam_isolate::{
    HARDEN,
    deno_core::{
        Extension,
        snapshot::{CreateSnapshotOptions, create_snapshot},
    },
};

fn main() {
    let extensions = vec![
        deno_webidl::deno_webidl::init(),
        deno_web::deno_web::init(deno_web::BlobStore::default_arc(), None, false, Default::default()),
        ops::seam_sandbox::init(),
        // The isolate adds this one to every runtime; here it refuses nothing yet.
        Extension {
            name: "seam_refuse_ops",
            ..Default::default()
        },
    ];
    let made = create_snapshot(
        CreateSnapshotOptions {
            cargo_manifest_dir: env!("CARGO_MANIFEST_DIR"),
            startup_snapshot: None,
            skip_op_registration: false,
            extensions,
            extension_transpiler: None,
            with_runtime_cb: Some(Box::new(|runtime| {
                runtime
                    .execute_script("seam:harden", HARDEN)
                    .expect("the realm cannot be hardened");
            })),
        },
        None,
    )
    .expect("the snapshot cannot be made");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("guest.snapshot");
    fs::write(out, &made.output).expect("the snapshot cannot be written");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/console.rs");
    println!("cargo:rerun-if-changed=src/ops.rs");
    println!("cargo:rerun-if-changed=src/js");
    for file in made.files_loaded_during_snapshot {
        println!("cargo:rerun-if-changed={}", file.display());
    }
}
