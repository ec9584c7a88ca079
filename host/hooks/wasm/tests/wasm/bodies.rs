//! Request bodies: given only to a hook whose source says so.

use seam_contract::document::Bodies;

use crate::support::{Bench, ENGINE, refused, request, written};

/// Replaces the body by `new`; fails with the host's words where that is refused, and traps
/// where it is not given the body that there is.
fn rewriter() -> Vec<u8> {
    written(
        "fetch-pre-hook",
        r#"(module
            (import "seam:hooks/fetch@0.1.0" "[method]request.body" (func $body (param i32 i32)))
            (import "seam:hooks/fetch@0.1.0" "[method]request.with-body" (func $with-body (param i32 i32 i32 i32 i32)))
            (import "seam:hooks/fetch@0.1.0" "[resource-drop]request" (func $drop-request (param i32)))
            (import "seam:hooks/bodies@0.1.0" "[method]body.length" (func $length (param i32) (result i64)))
            (import "seam:hooks/bodies@0.1.0" "[resource-drop]body" (func $drop-body (param i32)))
            (import "seam:hooks/call@0.1.0" "[resource-drop]context" (func $drop-context (param i32)))
            (memory (export "memory") 2)
            (data (i32.const 1024) "new")
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
            (func (export "seam:hooks/fetch-pre@0.1.0#pre") (param $cx i32) (param $request i32) (result i32)
                (call $drop-context (local.get $cx))
                (call $body (local.get $request) (i32.const 256))
                (if (i32.load8_u (i32.const 256))
                    (then
                        (if (i64.ne (call $length (i32.load (i32.const 260))) (i64.const 8)) (then unreachable))
                        (call $drop-body (i32.load (i32.const 260)))))
                (call $with-body (local.get $request) (i32.const 1) (i32.const 1024) (i32.const 3) (i32.const 256))
                (call $drop-request (local.get $request))
                (if (i32.load8_u (i32.const 256))
                    (then ;; err(text)
                        (i32.store8 (i32.const 512) (i32.const 1))
                        (i32.store (i32.const 516) (i32.load (i32.const 260)))
                        (i32.store (i32.const 520) (i32.load (i32.const 264))))
                    (else ;; ok(rewrite)
                        (i32.store8 (i32.const 512) (i32.const 0))
                        (i32.store8 (i32.const 516) (i32.const 3))
                        (i32.store (i32.const 520) (i32.load (i32.const 260)))
                        (i32.store8 (i32.const 524) (i32.const 0))))
                (i32.const 512)))"#,
    )
}

#[tokio::test]
async fn a_body_is_given_only_where_granted() {
    let component = ENGINE.load("rewriter.wasm", &rewriter()).unwrap();
    let posted = || request("POST", "http://ok.test/", &[], Some(b"contents"));

    let granted = Bench::pre(&component, Bodies::Given);
    granted.run(posted()).await.unwrap();
    let seen = granted.executor.seen.lock().unwrap()[0].clone();
    assert_eq!(seen.body().map(|body| &body[..]), Some(&b"new"[..]));

    let withheld = Bench::pre(&component, Bodies::Withheld);
    let said = refused(withheld.run(posted()).await);
    assert!(
        said.starts_with("hook-failed: this hook is not given request bodies"),
        "{said}"
    );
    assert!(withheld.executor.urls().is_empty());
}
