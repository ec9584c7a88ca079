//! Calls that do not end by themselves, and what is left after they were ended.

use std::{sync::Arc, time::Duration};

use seam_contract::{PreHook, Stack, document::Bodies};
use seam_hook_js::{JsFile, Options};

use crate::harness::*;

const TIMED_OUT: &str = "fetch stopped, pre hook hook.js failed (timed out after 150 ms): T";

fn short(file: &Arc<JsFile>) -> Arc<dyn PreHook> {
    file.pre_hook("pre", SHORT, Bodies::Withheld).unwrap()
}

pub async fn a_promise_that_nothing_settles_fails_at_once() {
    let file = load(
        "let n = 0;
        async function pre(input) {
            n += 1;
            if (input.url.endsWith('hang')) await new Promise(() => {});
            return {allow: false, reason: 'n=' + n};
        }",
    )
    .await;
    // Ample time: it would be seen if this ended by its limit.
    let hang = through_pre(vec![pre(&file)], get("http://ok.test/hang")).await;
    assert_eq!(
        hang.0,
        "fetch stopped, pre hook hook.js failed (waits for a promise that nothing will settle): T"
    );
    assert!(hang.1.is_empty());
    let next = through_pre(vec![pre(&file)], get("http://ok.test/")).await;
    assert_eq!(next.0, "fetch denied by pre hook (n=2): T");
}

pub async fn an_endless_loop_ends_and_the_state_stays() {
    let file = load(
        "let n = 0;
        function pre(i) { n += 1; if (i.url.includes('spin')) for (;;); return {allow: false, reason: 'n=' + n} }",
    )
    .await;
    let through = |url| through_pre(vec![short(&file)], get(url));
    assert_eq!(through("http://ok.test/").await.0, "fetch denied by pre hook (n=1): T");
    let (told, seen) = through("http://ok.test/spin").await;
    assert_eq!(told, TIMED_OUT);
    assert!(seen.is_empty());
    assert_eq!(
        through_pre(vec![pre(&file)], get("http://ok.test/")).await.0,
        "fetch denied by pre hook (n=3): T"
    );
}

pub async fn script_in_odd_places_is_stopped_too() {
    for body in [
        "return {toJSON() { for (;;); }}",
        "return {get allow() { for (;;); }}",
        "return (async () => { for (;;) await null })()",
        "return Promise.resolve().then(() => { for (;;); })",
        "Promise.resolve().then(function again() { return Promise.resolve().then(again) }); return true",
        "throw Object.assign(new Error, {get message() { for (;;); }})",
        "throw {toString() { for (;;); }}",
        "try { for (;;); } finally { for (;;); }",
        "for (;;) { try { (function deep() { deep() })() } catch {} }",
        "return new Proxy({}, {ownKeys() { for (;;); }})",
        "for (;;) { try { throw new Error('x') } catch {} }",
        "Error.prepareStackTrace = () => { for (;;); }; return new Error('x').stack === 1",
        "Object.defineProperty(Error.prototype, 'name', {get() { for (;;); }}); throw new Error('x')",
    ] {
        let file = load(&format!(
            "let calls = 0; function pre(input) {{ if (calls++) return false; {body} }}"
        ))
        .await;
        let (told, seen) = through_pre(vec![short(&file)], get("http://ok.test/")).await;
        // The one that V8 renders without running script fails with its text instead.
        assert!(told == TIMED_OUT || told.contains("failed (threw "), "{body}: {told}");
        assert!(seen.is_empty(), "{body}");
        let (told, _) = through_pre(vec![pre(&file)], get("http://ok.test/")).await;
        assert_eq!(told, "fetch denied by pre hook: T", "{body}");
    }
}

pub async fn a_worker_that_does_not_stop_is_replaced() {
    // V8 does not look for a stop while it searches an object that is no array.
    let file = load(
        "let n = 0;
        function pre(i) {
            n += 1;
            if (i.url.endsWith('stuck')) { Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1) }
            return {allow: false, reason: 'n=' + n};
        }",
    )
    .await;
    let hook = short(&file);
    assert_eq!(
        through_pre(vec![hook.clone()], get("http://ok.test/stuck")).await.0,
        TIMED_OUT
    );
    let queued = "fetch stopped, pre hook hook.js failed (waited 150 ms in the queue of its worker";
    loop {
        let (told, seen) = through_pre(vec![hook.clone()], get("http://ok.test/")).await;
        assert!(seen.is_empty());
        match told.as_str() {
            "fetch denied by pre hook (n=1): T" => break,
            told => assert!(told.starts_with(queued), "{told}"),
        }
    }
}

pub async fn a_catastrophic_pattern_ends() {
    let file = load("function pre(i) { return /^http:..ok.test.(a+)+$/.test(i.url) }").await;
    let url = format!("http://ok.test/{}b", "a".repeat(40));
    assert_eq!(through_pre(vec![short(&file)], get(&url)).await.0, TIMED_OUT);
    assert_eq!(through_pre(vec![pre(&file)], get("http://ok.test/aaa")).await.0, "200");
}

pub async fn nothing_of_a_stopped_call_runs_later() {
    let file = load(
        "let leaked = 0, parked;
        function pre(i) {
            if (!i.url.endsWith('spin')) return {allow: false, reason: 'leaked=' + leaked};
            Promise.resolve().then(function again() { leaked += 1; return Promise.resolve().then(again) });
            Promise.reject(new Error('of the dead call'));
            queueMicrotask(() => { leaked += 1 });
            for (;;);
        }",
    )
    .await;
    assert_eq!(
        through_pre(vec![short(&file)], get("http://ok.test/spin")).await.0,
        TIMED_OUT
    );
    for _ in 0..2 {
        let next = through_pre(vec![pre(&file)], get("http://ok.test/")).await;
        assert_eq!(next.0, "fetch denied by pre hook (leaked=0): T");
    }
}

pub async fn a_cancelled_call_leaves_a_working_file() {
    let file = load(
        "let n = 0;
        function pre(i) { n += 1; if (i.url.endsWith('spin')) for (;;); return {allow: false, reason: 'n=' + n} }",
    )
    .await;
    let recording = Recording::echo();
    let stack = stack(
        Stack::chain(vec![pre(&file)], Vec::new(), Vec::new()),
        recording.clone(),
    );
    for round in 0..200_u32 {
        let spinning = tokio::spawn({
            let stack = stack.clone();
            async move { send(&stack, get("http://ok.test/spin")).await }
        });
        // Sometimes before its turn, mostly in the middle of it: both must do.
        if round % 4 != 0 {
            tokio::time::sleep(Duration::from_micros(u64::from(round) * 20)).await;
        }
        spinning.abort();
        let _ = spinning.await;
        let told = told(&send(&stack, get("http://ok.test/")).await);
        assert!(
            told.starts_with("fetch denied by pre hook (n="),
            "round {round}: {told}"
        );
    }
    assert_eq!(recording.count(), 0);
}

pub async fn a_cancelled_layer_leaves_a_working_file() {
    let file =
        load("let n = 0; async function handle(i, next) { n += 1; await next(i); throw new Error('n=' + n) }").await;
    let (begun, mut beginnings) = tokio::sync::mpsc::unbounded_channel();
    let hanging = Recording::later(move |request| {
        let hangs = request.url().path() == "/hang";
        let answer = Ok(seam_contract::fetch::Response::new(200, request.url().as_str()).unwrap());
        if hangs {
            begun.send(()).unwrap();
        }
        Box::pin(async move {
            if hangs {
                std::future::pending::<()>().await;
            }
            answer
        })
    });
    let stack = stack(vec![layer(&file)], hanging);
    for round in 1..=200 {
        let call = tokio::spawn({
            let stack = stack.clone();
            async move { send(&stack, get("http://ok.test/hang")).await }
        });
        beginnings.recv().await.unwrap();
        call.abort();
        let _ = call.await;
        let told = told(&send(&stack, get("http://ok.test/")).await);
        assert_eq!(
            told,
            format!("fetch stopped, layer hook.js failed (threw Error: n={}): T", round * 2)
        );
    }
}

pub async fn waiting_for_the_turn_has_its_own_bound() {
    let file = load(
        "let n = 0;
        async function handle(i, next) { return await next(i) }
        function pre(i) { n += 1; return {allow: false, reason: 'n=' + n} }",
    )
    .await;
    let (begun, mut beginning) = tokio::sync::mpsc::unbounded_channel();
    let hanging = Recording::later(move |_| {
        begun.send(()).unwrap();
        Box::pin(std::future::pending())
    });
    // Looked up while the worker is free: a lookup waits for its turn, too.
    let (waiting, patient) = (short(&file), pre(&file));
    let holder = stack(vec![layer(&file)], hanging);
    let holding = tokio::spawn(async move { send(&holder, get("http://ok.test/")).await });
    beginning.recv().await.unwrap();

    let (told, seen) = through_pre(vec![waiting], get("http://ok.test/")).await;
    assert_eq!(
        told,
        "fetch stopped, pre hook hook.js failed (waited 150 ms in the queue of its worker, which is busy with other calls): T"
    );
    assert!(seen.is_empty() && !holding.is_finished(), "only the waiter ends");
    holding.abort();
    let next = through_pre(vec![patient], get("http://ok.test/")).await;
    // The one that left the queue was never called.
    assert_eq!(next.0, "fetch denied by pre hook (n=1): T");
}

pub async fn the_limit_counts_from_the_turn() {
    const LIMIT: Duration = Duration::from_secs(3);
    // Two thirds of the limit in the queue and two thirds at work.
    const PART: Duration = Duration::from_secs(2);
    let file = load("async function handle(i, next) { return await next(i) }").await;
    let slow = Recording::later(|request| {
        let answer = Ok(seam_contract::fetch::Response::new(200, request.url().as_str()).unwrap());
        Box::pin(async move {
            tokio::time::sleep(PART).await;
            answer
        })
    });
    let limited = || file.layer("handle", LIMIT, Bodies::Withheld).unwrap();
    let (first, second) = (
        stack(vec![limited()], slow.clone()),
        stack(vec![limited()], slow.clone()),
    );
    let url = "http://ok.test/";
    let (one, two) = futures::future::join(send(&first, get(url)), send(&second, get(url))).await;
    assert_eq!((told(&one), told(&two)), ("200".to_owned(), "200".to_owned()));
}

pub async fn using_up_the_heap_restarts_the_file() {
    let options = Options {
        heap: 32 << 20,
        ..Options::default()
    };
    for bomb in [
        "const all = []; for (;;) all.push({a: all.length})",
        "new Array(1e8).fill(0).map(() => ({})); return true",
        "let s = 'x'; for (;;) { s += s; kept.push(s.replace(/x/g, () => 'yy')) }",
        "const m = new Map(); for (let i = 0;; i += 1) m.set(i, [i])",
        "return {toJSON() { const all = []; for (;;) all.push([]) }}",
        "return (async () => { for (;;) { kept.push([]); await null } })()",
    ] {
        let text = format!(
            "let n = 0; const kept = [];
            function pre(i) {{ n += 1; if (!i.url.endsWith('bomb')) return {{allow: false, reason: 'n=' + n}}; {bomb} }}"
        );
        let file = load_with(&text, options.clone()).await;
        let through = |url| through_pre(vec![pre(&file)], get(url));
        assert_eq!(
            through("http://ok.test/").await.0,
            "fetch denied by pre hook (n=1): T",
            "{bomb}"
        );
        let (told, seen) = through("http://ok.test/bomb").await;
        let expected = "used more memory than its limit; its file starts anew with the next call";
        assert!(
            told.contains(expected) || told.contains("threw RangeError: Invalid string length"),
            "{bomb}: {told}"
        );
        assert!(seen.is_empty(), "{bomb}");
        let again = through("http://ok.test/").await.0;
        let n = if told.contains(expected) { 1 } else { 3 };
        assert_eq!(again, format!("fetch denied by pre hook (n={n}): T"), "{bomb}");
    }
}

pub async fn array_buffers_are_bounded() {
    let file = load(
        "let n = 0;
        function pre(i) {
            n += 1;
            if (!i.url.endsWith('bomb')) return {allow: false, reason: 'n=' + n};
            const all = [];
            for (;;) all.push(new ArrayBuffer(16 << 20));
        }",
    )
    .await;
    let through = |url| through_pre(vec![pre(&file)], get(url));
    for _ in 0..3 {
        let (told, _) = through("http://ok.test/bomb").await;
        assert!(
            told.contains("failed (used more memory than its limit; its file starts anew"),
            "{told}"
        );
        assert_eq!(through("http://ok.test/").await.0, "fetch denied by pre hook (n=1): T");
    }
    // Catching the error doesn't help: the memory is used up all the same.
    let caught = load(
        "let n = 0; const all = [];
        function pre(i) {
            n += 1;
            if (!i.url.endsWith('bomb')) return {allow: false, reason: 'n=' + n};
            try { for (;;) all.push(new ArrayBuffer(16 << 20)) } catch {}
        }",
    )
    .await;
    let (told, seen) = through_pre(vec![pre(&caught)], get("http://ok.test/bomb")).await;
    assert!(
        told.contains("failed (used more memory than its limit; its file starts anew"),
        "{told}"
    );
    assert!(seen.is_empty());
    assert_eq!(
        through_pre(vec![pre(&caught)], get("http://ok.test/")).await.0,
        "fetch denied by pre hook (n=1): T"
    );
}

pub async fn deep_recursion_is_a_failure() {
    let file = load("function pre(i) { return i.url.endsWith('deep') ? pre(i) : false }").await;
    let (told, _) = through_pre(vec![pre(&file)], get("http://ok.test/deep")).await;
    assert_eq!(
        told,
        "fetch stopped, pre hook hook.js failed (threw RangeError: Maximum call stack size exceeded): T"
    );
    let nested = load("function pre() { let a = []; for (let i = 0; i < 1e6; i += 1) a = [a]; return a }").await;
    let (told, _) = through_pre(vec![pre(&nested)], get("http://ok.test/")).await;
    assert!(
        told.contains("answered with what JSON cannot hold (RangeError"),
        "{told}"
    );
    let fairly = load("function pre() { let a = []; for (let i = 0; i < 500; i += 1) a = [a]; return a }").await;
    let (told, _) = through_pre(vec![pre(&fairly)], get("http://ok.test/")).await;
    assert!(told.contains("nests deeper than 128 levels"), "{told}");
}

pub async fn large_answers_are_bounded() {
    let file = load("function pre() { return {allow: false, reason: 'x'.repeat(100 * 1024 * 1024)} }").await;
    let (told, _) = through_pre(vec![pre(&file)], get("http://ok.test/")).await;
    assert!(
        told.contains("failed (answered with more than 100663296 bytes)"),
        "{} bytes",
        told.len()
    );
    let file = load("function pre() { return {allow: false, reason: 'x'.repeat(1024 * 1024)} }").await;
    let (told, _) = through_pre(vec![pre(&file)], get("http://ok.test/")).await;
    assert!(
        told.starts_with("fetch denied by pre hook (xxx") && told.len() < 5000,
        "{} bytes",
        told.len()
    );
}
