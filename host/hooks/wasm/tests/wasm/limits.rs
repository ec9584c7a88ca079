//! Guests that take too much: each ends as a failure, and the next call works.

use std::time::Duration;

use seam_contract::document::Bodies;

use crate::support::{Bench, ENGINE, LIMIT, Recording, answer, get, load, refused, written};

async fn survives(behaviour: &str, limit: Duration) -> String {
    let bench = Bench::pre_within(&load("hostile.wasm"), Bodies::Withheld, limit);
    let said = refused(bench.run(get(&[("x-hostile", behaviour)])).await);
    bench.run(get(&[])).await.unwrap();
    assert_eq!(
        bench.executor.urls().len(),
        1,
        "only the harmless call reaches the executor"
    );
    said
}

#[tokio::test]
async fn a_trap_is_a_failure() {
    let said = survives("trap", LIMIT).await;
    assert!(said.starts_with("hook-failed: trapped: unreachable code"), "{said}");
}

#[tokio::test]
async fn endless_work_is_stopped() {
    let said = survives("spin", Duration::from_millis(50)).await;
    assert_eq!(said, "hook-failed: timed out after 50 ms");
}

#[tokio::test]
async fn memory_is_limited() {
    let said = survives("grow", LIMIT).await;
    assert!(said.contains("refused memory beyond 256 MiB"), "{said}");
}

#[tokio::test]
async fn the_stack_is_limited() {
    let said = survives("recurse", LIMIT).await;
    assert!(said.starts_with("hook-failed: trapped: "), "{said}");
}

#[tokio::test]
async fn a_huge_reason_is_not_taken() {
    let said = survives("huge", LIMIT).await;
    assert!(said.starts_with("hook-failed: trapped: "), "{said}");
}

#[tokio::test]
async fn what_the_host_keeps_for_a_guest_is_limited() {
    // A layer that asks again and again and drops no answer.
    let hoarder = written(
        "fetch-layer-hook",
        r#"(module
            (import "seam:hooks/fetch-next@0.1.0" "[method]next.run" (func $run (param i32 i32 i32)))
            (memory (export "memory") 1)
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
            (func (export "seam:hooks/fetch-layer@0.1.0#handle") (param i32 i32 i32) (result i32)
                (loop $again
                    (call $run (local.get 2) (local.get 1) (i32.const 256))
                    (br_if $again (i32.eqz (i32.load8_u (i32.const 256)))))
                unreachable))"#,
    );
    let component = ENGINE.load("hoarder.wasm", &hoarder).unwrap();
    let large = answer(200, "http://ok.test/")
        .with_body(vec![0; 32 << 20].into())
        .unwrap();
    let bench = Bench::layers(&[&component], Recording::answering(vec![Ok(large); 20]));
    let said = refused(bench.run(get(&[])).await);
    assert!(said.contains("of more than 256 MiB"), "{said}");
    assert_eq!(
        bench.executor.urls().len(),
        8,
        "256 MiB hold seven answers of 32 MiB and a little"
    );
}

#[tokio::test]
async fn handles_are_limited() {
    let hoarder = written(
        "fetch-pre-hook",
        r#"(module
            (import "seam:hooks/fetch@0.1.0" "[method]request.without-header" (func $copy (param i32 i32 i32) (result i32)))
            (memory (export "memory") 1)
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
            (func (export "seam:hooks/fetch-pre@0.1.0#pre") (param i32 i32) (result i32)
                (loop $again
                    (drop (call $copy (local.get 1) (i32.const 0) (i32.const 1)))
                    (br $again))
                unreachable))"#,
    );
    let component = ENGINE.load("hoarder.wasm", &hoarder).unwrap();
    let said = refused(Bench::pre(&component, Bodies::Withheld).run(get(&[])).await);
    assert!(
        said.starts_with("hook-failed: trapped: ") && !said.contains("timed out"),
        "{said}"
    );
}

#[tokio::test]
async fn a_handle_kept_beyond_the_call_gets_a_hint() {
    let keeper = written(
        "fetch-pre-hook",
        r#"(module
            (memory (export "memory") 1)
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
            (func (export "seam:hooks/fetch-pre@0.1.0#pre") (param i32 i32) (result i32) (i32.const 512)))"#,
    );
    let component = ENGINE.load("keeper.wasm", &keeper).unwrap();
    let said = refused(Bench::pre(&component, Bodies::Withheld).run(get(&[])).await);
    assert!(said.contains("--autodrop-borrows"), "{said}");
}
