//! What is refused when a component is loaded, and in which words.

use seam_contract::{ErrorKind, OperationKind, document::Bodies};
use seam_hook_wasm::HookRole;

use crate::support::{ENGINE, LIMIT, built, load, written};

#[track_caller]
fn refused(bytes: &[u8], words: &[&str]) {
    let error = ENGINE.load("x.wasm", bytes).expect_err("was loaded");
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "{word} is not in: {text}");
    }
}

/// A component in text form.
fn component(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

#[test]
fn what_is_no_component() {
    refused(
        &wat::parse_str("(module)").unwrap(),
        &["x.wasm", "core module", "wit-component"],
    );
    refused(b"(component)", &["text"]);
    refused(b"export function pre() {}", &["not WebAssembly"]);
    refused(b"", &["empty"]);
    let mut cut = built("pass.wasm");
    cut.truncate(cut.len() / 2);
    refused(&cut, &["x.wasm does not compile"]);
}

#[test]
fn an_import_beyond_the_contract() {
    let wasi = component(r#"(component (import "wasi:cli/environment@0.2.0" (instance (export "f" (func)))))"#);
    refused(&wasi, &["imports wasi:cli/environment@0.2.0", "seam:hooks@0.1"]);
    refused(
        &component(r#"(component (import "log" (func (param "text" string))))"#),
        &["imports log"],
    );
    let lookalike = component(r#"(component (import "seam:hooks-extra/x@0.1.0" (instance (export "f" (func)))))"#);
    refused(&lookalike, &["imports seam:hooks-extra/x@0.1.0"]);
    let unknown = component(r#"(component (import "seam:hooks/clock@0.1.0" (instance (export "now" (func)))))"#);
    refused(&unknown, &["x.wasm"]);
}

#[test]
fn another_version_of_the_contract() {
    refused(
        &built("old-contract.wasm"),
        &["seam:hooks/", "@0.9.0", "seam:hooks@0.1"],
    );
    let exported = component(
        r#"(component
            (instance $role)
            (export "seam:hooks/fetch-pre@1.0.0" (instance $role)))"#,
    );
    refused(&exported, &["seam:hooks/fetch-pre@1.0.0", "another version"]);
}

#[test]
fn no_role_or_an_unknown_one() {
    refused(
        &component("(component)"),
        &["exports no role", "fetch-pre", "document-executor"],
    );
    let unknown = component(r#"(component (instance $i) (export "seam:hooks/fetch-during@0.1.0" (instance $i)))"#);
    refused(&unknown, &["seam:hooks/fetch-during@0.1.0", "no role"]);
}

#[test]
fn a_role_of_the_wrong_type() {
    let empty = component(r#"(component (instance $i) (export "seam:hooks/fetch-pre@0.1.0" (instance $i)))"#);
    refused(&empty, &["does not fit the contract", "pre"]);
    let other = component(
        r#"(component
            (core module $m (func (export "pre")))
            (core instance $c (instantiate $m))
            (func $pre (canon lift (core func $c "pre")))
            (instance $i (export "pre" (func $pre)))
            (export "seam:hooks/fetch-pre@0.1.0" (instance $i)))"#,
    );
    refused(&other, &["does not fit the contract"]);
}

#[test]
fn one_that_does_not_come_up() {
    let trapping = written(
        "document-pre-hook",
        r#"(module
            (memory (export "memory") 1)
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
            (func (export "seam:hooks/document-pre@0.1.0#pre") (param i32 i32 i32 i32 i32) (result i32) unreachable)
            (func $start unreachable)
            (start $start))"#,
    );
    refused(&trapping, &["does not come up", "unreachable"]);
    let large = written(
        "document-pre-hook",
        r#"(module
            (memory (export "memory") 5000)
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
            (func (export "seam:hooks/document-pre@0.1.0#pre") (param i32 i32 i32 i32 i32) (result i32) unreachable))"#,
    );
    refused(&large, &["does not come up", "256 MiB"]);
}

#[test]
fn roles_are_found_and_missing_ones_named() {
    let vectors = load("vectors.wasm");
    for role in [HookRole::FetchPre, HookRole::FetchPost, HookRole::FetchLayer] {
        assert!(vectors.roles().contains(&role), "{vectors:?}");
    }
    assert_eq!(load("pass.wasm").roles(), [HookRole::FetchLayer]);
    // Exports of its own beside the roles are no reason to refuse a component.
    assert_eq!(
        load("rego.wasm").roles(),
        [HookRole::DocumentPre, HookRole::DocumentPost]
    );

    let missing = load("pass.wasm").pre_hook(OperationKind::Fetch, LIMIT, Bodies::Withheld);
    let text = missing.err().expect("has no such role").to_string();
    assert_eq!(
        text,
        "pass.wasm cannot be a pre hook of fetch: that takes one of the roles fetch-pre, document-pre, \
         it exports fetch-layer"
    );
}
