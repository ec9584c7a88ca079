//! The cache of compiled components, and whom it trusts.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf, sync::Arc};

use seam_contract::{Error, ErrorKind, document::Bodies};
use seam_hook_wasm::{Digest, Engine, EngineOptions};

use crate::support::{Bench, Directory, built, get};

fn open(directory: &Directory) -> Result<Arc<Engine>, Error> {
    Engine::new(EngineOptions {
        cache: Some(directory.0.clone()),
    })
}

fn files(directory: &Directory) -> Vec<PathBuf> {
    let entries = fs::read_dir(&directory.0).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test]
async fn what_was_compiled_once_is_found_again() {
    let directory = Directory::new("found");
    let bytes = built("count.wasm");
    let source = Digest::of([&b"count"[..]]);
    let first = open(&directory).unwrap();
    first.load_made("count.wasm", &source, || Ok(bytes.clone())).unwrap();
    assert_eq!(files(&directory).len(), 1);

    let second = open(&directory).unwrap();
    let found = second
        .load_made("count.wasm", &source, || panic!("was made again"))
        .unwrap();
    let bench = Bench::pre(&found, Bodies::Withheld);
    bench.run(get(&[])).await.unwrap();
    assert_eq!(bench.reason(0).as_deref(), Some("calls=1"));
}

#[test]
fn the_name_says_nothing_about_the_contents() {
    let directory = Directory::new("contents");
    let engine = open(&directory).unwrap();
    engine.load("hook.wasm", &built("pass.wasm")).unwrap();
    let other = engine.load("hook.wasm", &built("count.wasm")).unwrap();
    assert_eq!(other.roles(), [seam_hook_wasm::HookRole::FetchPre]);
    assert_eq!(files(&directory).len(), 2);
}

#[test]
fn a_spoiled_file_is_compiled_anew() {
    let directory = Directory::new("spoiled");
    let bytes = built("pass.wasm");
    open(&directory).unwrap().load("pass.wasm", &bytes).unwrap();
    let file = files(&directory).remove(0);
    let whole = fs::read(&file).unwrap();
    fs::write(&file, b"nothing compiled").unwrap();
    open(&directory).unwrap().load("pass.wasm", &bytes).unwrap();
    assert!(fs::read(&file).unwrap() == whole, "the file was not replaced");
}

#[test]
fn what_fails_to_load_is_not_kept() {
    let directory = Directory::new("unfit");
    let engine = open(&directory).unwrap();
    engine.load("old.wasm", &built("old-contract.wasm")).unwrap_err();
    assert!(files(&directory).is_empty());
}

#[test]
fn nobody_else_may_write_to_it() {
    let directory = Directory::new("shared");
    open(&directory).unwrap();
    let mode = fs::metadata(&directory.0).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);

    for open_to in [0o770, 0o702, 0o777] {
        fs::set_permissions(&directory.0, fs::Permissions::from_mode(open_to)).unwrap();
        let error = open(&directory).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().contains("others can write"), "{open_to:o}: {error}");
    }
}

#[test]
fn nobody_else_may_put_another_in_its_place() {
    let directory = Directory::new("parent");
    fs::create_dir(&directory.0).unwrap();
    fs::set_permissions(&directory.0, fs::Permissions::from_mode(0o777)).unwrap();
    let inner = EngineOptions {
        cache: Some(directory.0.join("inner")),
    };
    let error = Engine::new(inner).unwrap_err();
    assert!(error.to_string().contains("others can write"), "{error}");
}

#[test]
fn a_file_is_no_directory() {
    let directory = Directory::new("file");
    fs::write(&directory.0, b"").unwrap();
    let error = open(&directory).unwrap_err();
    assert!(error.to_string().contains("cannot be made"), "{error}");
    fs::remove_file(&directory.0).unwrap();
}
