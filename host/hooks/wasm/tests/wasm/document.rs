//! The roles at the JSON door, with guests written as text: what they say is fixed, so what
//! is tested is how the host reads it.

use seam_contract::{Executor, OperationKind, Refusal, Role, Stack, document::Bodies};

use crate::support::{Bench, ENGINE, LIMIT, Recording, get, refused, written};

/// What every guest of this page needs: memory, an allocator that never frees, and a way to
/// drop the handle of the context.
const COMMON: &str = r#"
    (import "seam:hooks/call@0.1.0" "[resource-drop]context" (func $drop-context (param i32)))
    (memory (export "memory") 4)
    (global $free (mut i32) (i32.const 65536))
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (local $at i32)
        (local.set $at (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
        (global.set $free (i32.add (local.get $at) (local.get 3)))
        (local.get $at))
"#;

/// An executor that gives this text back: as its answer, or in a refusal.
fn executor(tag: u8, text: &str) -> Vec<u8> {
    let core = format!(
        r#"(module {COMMON}
            (data (i32.const 1024) "{}")
            (func (export "seam:hooks/document-executor@0.1.0#execute")
                (param $cx i32) (param i32 i32 i32 i32) (result i32)
                (call $drop-context (local.get $cx))
                {}
                (i32.const 512)))"#,
        escaped(text),
        stored(tag, text)
    );
    written("document-executor-hook", &core)
}

/// Writes a `result<string, refusal>` to address 512. `tag`: 0 answers, 1 denies, 2 fails.
fn stored(tag: u8, text: &str) -> String {
    let length = text.len();
    match tag {
        0 => format!(
            "(i32.store8 (i32.const 512) (i32.const 0))
             (i32.store (i32.const 516) (i32.const 1024)) (i32.store (i32.const 520) (i32.const {length}))"
        ),
        // deny(some(text))
        1 => format!(
            "(i32.store8 (i32.const 512) (i32.const 1)) (i32.store8 (i32.const 516) (i32.const 0))
             (i32.store8 (i32.const 520) (i32.const 1))
             (i32.store (i32.const 524) (i32.const 1024)) (i32.store (i32.const 528) (i32.const {length}))"
        ),
        // fail(text)
        _ => format!(
            "(i32.store8 (i32.const 512) (i32.const 1)) (i32.store8 (i32.const 516) (i32.const 1))
             (i32.store (i32.const 520) (i32.const 1024)) (i32.store (i32.const 524) (i32.const {length}))"
        ),
    }
}

fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("\\{byte:02x}")).collect()
}

/// A layer that sends `down` and gives on whatever comes back.
fn layer(down: &str) -> Vec<u8> {
    let core = format!(
        r#"(module
            (import "seam:hooks/document-next@0.1.0" "[method]next.run" (func $run (param i32 i32 i32 i32)))
            (import "seam:hooks/document-next@0.1.0" "[resource-drop]next" (func $drop-next (param i32)))
            {COMMON}
            (data (i32.const 1024) "{}")
            (func (export "seam:hooks/document-layer@0.1.0#handle")
                (param $cx i32) (param i32 i32) (param $input i32) (param $length i32) (param $next i32) (result i32)
                {}
                (call $run (local.get $next) (local.get $input) (local.get $length) (i32.const 256))
                (call $drop-next (local.get $next))
                (call $drop-context (local.get $cx))
                (if (i32.load8_u (i32.const 256))
                    (then ;; err(rethrow(failure))
                        (i32.store8 (i32.const 512) (i32.const 1))
                        (i32.store8 (i32.const 516) (i32.const 2))
                        (i32.store (i32.const 520) (i32.load (i32.const 260))))
                    (else
                        (i32.store8 (i32.const 512) (i32.const 0))
                        (i32.store (i32.const 516) (i32.load (i32.const 260)))
                        (i32.store (i32.const 520) (i32.load (i32.const 264)))))
                (i32.const 512)))"#,
        escaped(down),
        if down.is_empty() {
            String::new()
        } else {
            format!(
                "(local.set $input (i32.const 1024)) (local.set $length (i32.const {}))",
                down.len()
            )
        }
    );
    written("document-layer-hook", &core)
}

async fn executed(bytes: &[u8]) -> Result<seam_contract::Output, Refusal> {
    let component = ENGINE.load("executor.wasm", bytes).unwrap();
    let executor = component
        .executor(OperationKind::Fetch, LIMIT, Bodies::Withheld)
        .unwrap();
    let stack = Stack::new(OperationKind::Fetch, vec![], executor).unwrap();
    let caller = std::sync::Arc::new(seam_contract::Caller::new("e"));
    stack.run(caller, seam_contract::Operation::Fetch(get(&[]))).await
}

#[tokio::test]
async fn an_executor_answers_with_a_whole_document() {
    let text = r#"{"status":203,"statusText":"Made","headers":{"x-a":"1"},"body":"aGk=","bodyEncoding":"base64"}"#;
    let seam_contract::Output::Fetch(response) = executed(&executor(0, text)).await.unwrap();
    assert_eq!((response.status(), &response.body()[..]), (203, &b"hi"[..]));
    assert_eq!(response.headers().get_all("x-a").collect::<Vec<_>>(), ["1"]);
    assert_eq!(response.url().as_str(), "http://ok.test/p?q=1");
}

#[tokio::test]
async fn an_executor_without_a_document_fails() {
    for text in [
        "",
        "null",
        "{}",
        r#"{"status":203"#,
        r#"{"status":99,"headers":{},"body":"","bodyEncoding":"base64"}"#,
    ] {
        let said = refused(executed(&executor(0, text)).await);
        assert!(said.starts_with("hook-failed: "), "{text}: {said}");
    }
}

#[tokio::test]
async fn an_executor_denies_or_fails() {
    let end = executed(&executor(1, "closed")).await;
    let Err(Refusal::Denied(denial)) = end else {
        panic!("{end:?}")
    };
    assert_eq!((denial.by, denial.reason.as_deref()), (Role::Executor, Some("closed")));
    assert_eq!(refused(executed(&executor(2, "broken")).await), "hook-failed: broken");
}

#[tokio::test]
async fn a_layer_passes_documents_down_and_up() {
    let layer = ENGINE.load("layer.wasm", &layer("")).unwrap();
    let bench = Bench::layers(&[&layer, &layer], Recording::answering([]));
    let response = bench.run(get(&[("x-a", "1")])).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(*bench.executor.seen.lock().unwrap(), [get(&[("x-a", "1")])]);
}

#[tokio::test]
async fn a_layer_is_held_to_the_document_it_received() {
    let sent = |document: &str| layer(document);
    let whole = r#"{"url":"http://other.test/","method":"PUT","headers":{"x-b":"2"}}"#;
    let component = ENGINE.load("layer.wasm", &sent(whole)).unwrap();
    let bench = Bench::layers(&[&component], Recording::answering([]));
    bench.run(get(&[])).await.unwrap();
    let seen = bench.executor.seen.lock().unwrap()[0].clone();
    assert_eq!((seen.method(), seen.url().as_str()), ("PUT", "http://other.test/"));

    for (document, named) in [
        (r#"{"url":"http://other.test/"}"#, "method"),
        (
            r#"{"operation":"exec","url":"http://ok.test/","method":"GET","headers":{}}"#,
            "operation",
        ),
        (
            r#"{"claims":{},"url":"http://ok.test/","method":"GET","headers":{}}"#,
            "claims",
        ),
        (
            r#"{"x":1,"url":"http://ok.test/","method":"GET","headers":{}}"#,
            "\"x\"",
        ),
        ("[", "JSON"),
    ] {
        let component = ENGINE.load("layer.wasm", &sent(document)).unwrap();
        let bench = Bench::layers(&[&component], Recording::answering([]));
        let said = refused(bench.run(get(&[])).await);
        assert!(
            said.starts_with("hook-failed: ") && said.contains(named),
            "{document}: {said}"
        );
        assert!(bench.executor.urls().is_empty(), "{document}");
    }
}

#[tokio::test]
async fn a_refusal_from_below_is_handed_on_unchanged() {
    let denial = seam_contract::Denial::new(Role::Policy, Some("not today".into()));
    let component = ENGINE.load("layer.wasm", &layer("")).unwrap();
    let bench = Bench::layers(&[&component], Recording::answering([Err(denial.clone().into())]));
    let end = bench.run(get(&[])).await;
    assert!(matches!(&end, Err(Refusal::Denied(same)) if *same == denial), "{end:?}");
}

#[test]
fn an_executor_keeps_its_limit() {
    let component = ENGINE.load("executor.wasm", &executor(0, "{}")).unwrap();
    let executor = component
        .executor(OperationKind::Fetch, LIMIT, Bodies::Withheld)
        .unwrap();
    assert_eq!(
        (Executor::name(&*executor), executor.limit()),
        ("executor.wasm", Some(LIMIT))
    );
}
