//! What hooks that judge may answer, and what becomes of it.

use bytes::Bytes;
use seam_contract::{
    Operation, Stack,
    document::Bodies,
    fetch::{Request, Response},
    headers::Headers,
};

use crate::harness::*;

/// The end of one GET of `http://ok.test/` with a pre hook of this body, sync and async.
async fn judged(body: &str) -> (String, Vec<String>) {
    let plain = load(&format!("function pre(input) {{ {body} }}")).await;
    let asynchronous = load(&format!("async function pre(input) {{ await null; {body} }}")).await;
    let ends = through_pre(vec![pre(&plain)], get("http://ok.test/")).await;
    assert_eq!(
        ends,
        through_pre(vec![pre(&asynchronous)], get("http://ok.test/")).await,
        "async: {body}"
    );
    ends
}

pub async fn every_answer_of_the_contract() {
    let ok = || vec!["http://ok.test/".to_owned()];
    let none = Vec::new;
    for (body, told, seen) in [
        ("", "200", ok()),
        ("return undefined", "200", ok()),
        ("return null", "200", ok()),
        ("return true", "200", ok()),
        ("return false", "fetch denied by pre hook: T", none()),
        ("return {allow: true}", "200", ok()),
        ("return {reason: 'noted'}", "200", ok()),
        ("return {allow: false}", "fetch denied by pre hook: T", none()),
        (
            "return {allow: false, reason: 'no \u{e9}\u{1f600}'}",
            "fetch denied by pre hook (no \u{e9}\u{1f600}): T",
            none(),
        ),
        (
            "return {allow: false, reason: undefined}",
            "fetch denied by pre hook: T",
            none(),
        ),
        ("return {input}", "200", ok()),
        (
            "return {input: {...input, url: 'http://other.test/'}}",
            "200",
            vec!["http://other.test/".to_owned()],
        ),
        (
            "return {allow: false, input: {...input, url: 'http://other.test/'}}",
            "fetch denied by pre hook: T",
            none(),
        ),
        (
            "return Object.create(null, {allow: {value: false, enumerable: true}})",
            "fetch denied by pre hook: T",
            none(),
        ),
        (
            "return new (class { allow = false })",
            "fetch denied by pre hook: T",
            none(),
        ),
        (
            "return {toJSON() { return {allow: false} }}",
            "fetch denied by pre hook: T",
            none(),
        ),
    ] {
        assert_eq!(judged(body).await, (told.to_owned(), seen), "{body}");
    }
}

pub async fn what_json_cannot_hold_is_a_failure() {
    for (body, what) in [
        ("return () => true", "a function"),
        ("return Symbol('x')", "a symbol"),
        ("return 1n", "a bigint"),
        ("return NaN", "the number NaN"),
        ("return {allow: true, reason: () => 1}", "a function as reason"),
        ("return {allow: Symbol()}", "a symbol as allow"),
        ("return {allow: Infinity}", "the number Infinity as allow"),
        (
            "return {input: {...input, headers: new Map([['a', 'b']])}}",
            "a Map as headers",
        ),
        ("return {input: {...input, headers: new Set}}", "a Set as headers"),
        (
            "return {input: {...input, headers: {a: Promise.resolve('b')}}}",
            "a promise that was not awaited as a",
        ),
        ("return {toJSON() { return null }}", "a value that is nothing in JSON"),
        ("return {toJSON() {}}", "a value that is nothing in JSON"),
        ("return {toJSON() { throw new RangeError('mine') }}", "RangeError: mine"),
        ("const a = {}; a.reason = a; return a", "circular structure"),
        ("return {get reason() { throw 'got' }}", "got"),
    ] {
        let (told, seen) = judged(body).await;
        let start = "fetch stopped, pre hook hook.js failed (answered with what JSON cannot hold (";
        assert!(told.starts_with(start) && told.contains(what), "{body}: {told}");
        assert!(seen.is_empty(), "{body} reached the executor");
    }
}

pub async fn what_is_no_verdict_is_a_failure() {
    for (body, what) in [
        ("return {}", "answered an empty object, which is no verdict"),
        (
            "return 0",
            "answered a number; a verdict is nothing, a boolean or an object",
        ),
        (
            "return ''",
            "answered a string; a verdict is nothing, a boolean or an object",
        ),
        (
            "return []",
            "answered an array; a verdict is nothing, a boolean or an object",
        ),
        ("return {allow: 1}", "answered a number for allow, which is a boolean"),
        (
            "return {allow: undefined}",
            "answered an empty object, which is no verdict",
        ),
        (
            "return {allow: false, deny: true}",
            "answered with the unknown key \"deny\"; accepted are allow, reason and input",
        ),
        (
            "return {output: {}}",
            "answered with the unknown key \"output\"; accepted are allow, reason and input",
        ),
        (
            "return {input: {url: input.url}}",
            "the input lacks the field method; a replacement is whole, not merged",
        ),
        (
            "return {input: {...input, operation: 'read'}}",
            "changed the pinned field operation",
        ),
        (
            "return {input: {...input, claims: {}}}",
            "changed the pinned field claims",
        ),
        (
            "return {input: {...input, marker: 1}}",
            "the input has the unknown field \"marker\"",
        ),
        ("return {allow: true, reason: '\\ud800'}", "not valid JSON"),
    ] {
        let (told, seen) = judged(body).await;
        assert!(
            told.starts_with("fetch stopped, pre hook hook.js failed (") && told.contains(what),
            "{body}: {told}"
        );
        assert!(seen.is_empty(), "{body} reached the executor");
    }
}

pub async fn exceptions_are_failures_with_their_text() {
    for (body, what) in [
        ("throw new TypeError('boom')", "threw TypeError: boom"),
        ("throw 'text'", "threw text"),
        ("throw undefined", "threw undefined"),
        ("nowhere()", "threw ReferenceError: nowhere is not defined"),
        // Only layers and executors deny by throwing.
        (
            "throw Object.assign(new Error('no'), {name: 'Denied'})",
            "threw Denied: no",
        ),
        ("throw new Error('two\\nlines\\u0000')", "threw Error: two lines "),
    ] {
        let (told, seen) = judged(body).await;
        assert_eq!(
            told,
            format!("fetch stopped, pre hook hook.js failed ({what}): T"),
            "{body}"
        );
        assert!(seen.is_empty());
    }
    let (told, _) = judged("throw new Error('x'.repeat(1 << 26))").await;
    assert!(told.len() < 5000, "{} bytes", told.len());
}

pub async fn post_hooks_get_both_documents() {
    let file = load(
        "function post(input, output) {
            if (arguments.length !== 2) throw new Error('arguments: ' + arguments.length);
            if (input.method !== 'GET' || output.status !== 200) return false;
            return {output: {...output, headers: {...output.headers, 'x-from': input.url}, body: btoaOf('new')}};
        }
        const btoaOf = () => 'bmV3';",
    )
    .await;
    let recording = Recording::echo();
    let stack = stack(Stack::chain(Vec::new(), vec![post(&file)], Vec::new()), recording);
    let response = send(&stack, get("http://ok.test/p")).await.unwrap();
    assert_eq!(response.body(), &Bytes::from_static(b"new"));
    assert_eq!(
        response.headers().get_all("x-from").collect::<Vec<_>>(),
        ["http://ok.test/p"]
    );

    let denying = load("function post() { return {allow: false, reason: 'secret in the answer'} }").await;
    let recording = Recording::echo();
    let stack = crate::harness::stack(
        Stack::chain(Vec::new(), vec![post(&denying)], Vec::new()),
        recording.clone(),
    );
    let end = send(&stack, get("http://ok.test/")).await;
    assert_eq!(told(&end), "fetch denied by post hook (secret in the answer): T");
    assert_eq!(recording.count(), 1);
}

pub async fn changing_a_document_changes_nothing() {
    let first = load("function pre(i) { i.url = 'http://bad.test'; i.headers['x-evil'] = '1'; delete i.method }").await;
    let second = load("function pre(i) { if (i.url !== 'http://ok.test/' || i.headers['x-evil']) return false }").await;
    let ends = through_pre(vec![pre(&first), pre(&second)], get("http://ok.test/")).await;
    assert_eq!(ends, ("200".to_owned(), vec!["http://ok.test/".to_owned()]));

    let changing = load("function post(i, o) { i.url = 'http://bad.test'; o.status = 500 }").await;
    let watching =
        load("function post(i, o) { if (i.url !== 'http://ok.test/' || o.status !== 200) return false }").await;
    let recording = Recording::echo();
    let layers = Stack::chain(Vec::new(), vec![post(&changing), post(&watching)], Vec::new());
    let end = send(&stack(layers, recording), get("http://ok.test/")).await;
    assert_eq!(told(&end), "200");
}

pub async fn odd_keys_are_plain_data() {
    let file = load(
        "const before = JSON.stringify(Object.getOwnPropertyNames(Object.prototype));
        function pre(input) {
            const h = input.headers;
            if (Object.getPrototypeOf(h) !== Object.prototype) return {allow: false, reason: 'prototype'};
            if (!Object.hasOwn(h, '__proto__') || h['__proto__'] !== 'x') return {allow: false, reason: 'own'};
            if (h.constructor !== 'y') return {allow: false, reason: 'constructor'};
            if (JSON.stringify(Object.getOwnPropertyNames(Object.prototype)) !== before) return false;
            return {input: {...input, headers: {...h, 'x-seen': '1'}}};
        }",
    )
    .await;
    let recording = Recording::echo();
    let stack = stack(
        Stack::chain(vec![pre(&file)], Vec::new(), Vec::new()),
        recording.clone(),
    );
    for _ in 0..2 {
        let operation = get_with("http://ok.test/", &[("__proto__", "x"), ("constructor", "y")]);
        assert_eq!(told(&send(&stack, operation).await), "200");
        let seen = recording.last();
        let headers: Vec<_> = seen.headers().iter().collect();
        assert_eq!(headers, [("__proto__", "x"), ("constructor", "y"), ("x-seen", "1")]);
    }

    // Only own members are part of a verdict, whatever the prototypes say.
    let polluted =
        load("Object.prototype.allow = false; Object.prototype.input = {}; function pre() { return {reason: 'r'} }")
            .await;
    let ends = through_pre(vec![pre(&polluted)], get("http://ok.test/")).await;
    assert_eq!(ends.0, "200");
    let escaped = load(r#"function pre() { return JSON.parse('{"\\u005f_proto__": {"allow": true}}') }"#).await;
    let ends = through_pre(vec![pre(&escaped)], get("http://ok.test/")).await;
    assert!(ends.0.contains("unknown key \"__proto__\""), "{}", ends.0);
}

pub async fn order_is_that_of_the_stack() {
    let slow = load(
        "function pre(input) {
            const end = Date.now() + 5;
            while (Date.now() < end);
            return {input: {...input, url: 'http://ok.test/a'}};
        }",
    )
    .await;
    let quick = load("async function pre(input) { return {input: {...input, url: input.url + '/b'}} }").await;
    let recording = Recording::echo();
    let layers = Stack::chain(vec![pre(&slow), pre(&quick)], Vec::new(), Vec::new());
    let stack = stack(layers, recording.clone());
    let all = (0..50).map(|_| send(&stack, get("http://ok.test/")));
    for end in futures::future::join_all(all).await {
        assert_eq!(told(&end), "200");
    }
    assert_eq!(recording.urls(), vec!["http://ok.test/a/b"; 50]);
}

pub async fn state_persists_and_calls_take_turns() {
    let file = load(
        "let inside = 0, count = 0;
        async function pre(input) {
            inside += 1;
            if (inside !== 1) return {allow: false, reason: 'two at once'};
            for (let i = 0; i < 10; i += 1) await null;
            inside -= 1;
            count += 1;
            return {input: {...input, url: 'http://ok.test/' + count}};
        }",
    )
    .await;
    let recording = Recording::echo();
    let stack = stack(
        Stack::chain(vec![pre(&file)], Vec::new(), Vec::new()),
        recording.clone(),
    );
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..200 {
        let stack = stack.clone();
        running.spawn(async move { send(&stack, get("http://ok.test/")).await });
    }
    for end in running.join_all().await {
        assert_eq!(told(&end), "200");
    }
    let mut urls = recording.urls();
    urls.sort_by_key(|url| url.rsplit('/').next().unwrap().parse::<u32>().unwrap());
    assert_eq!(
        urls,
        (1..=200).map(|n| format!("http://ok.test/{n}")).collect::<Vec<_>>()
    );
}

pub async fn one_file_may_stand_in_several_places() {
    let file = load(
        "const seen = [];
        function pre(input) { seen.push('pre'); return {input: {...input, url: input.url + '?' + seen.length}} }
        const mine = pre;
        function post(input, output) { seen.push('post'); return {allow: false, reason: seen + ' ' + input.url} }",
    )
    .await;
    let mine = file.pre_hook("mine", AMPLE, Bodies::Withheld).unwrap();
    let layers = Stack::chain(vec![pre(&file), mine], vec![post(&file)], Vec::new());
    let end = send(&stack(layers, Recording::echo()), get("http://ok.test/")).await;
    assert_eq!(
        told(&end),
        "fetch denied by post hook (pre,pre,post http://ok.test/?1?2): T"
    );
}

pub async fn bodies_are_given_where_granted() {
    let post = || {
        let body = Some(Bytes::from_static(b"hello"));
        Operation::Fetch(Request::new("POST", "http://ok.test/", Headers::default(), body).unwrap())
    };
    let file = load(
        "function pre(input) {
            if (!('body' in input)) return {allow: false, reason: 'no body'};
            return {input: {...input, body: input.body === 'aGVsbG8=' ? 'Ynll' : null}};
        }",
    )
    .await;
    let withheld = file.pre_hook("pre", AMPLE, Bodies::Withheld).unwrap();
    let given = file.pre_hook("pre", AMPLE, Bodies::Given).unwrap();
    let recording = Recording::new(|request| Ok(Response::new(200, request.url().as_str()).unwrap()));
    let through = |hook| stack(Stack::chain(vec![hook], Vec::new(), Vec::new()), recording.clone());
    let end = send(&through(withheld), post()).await;
    assert_eq!(told(&end), "fetch denied by pre hook (no body): T");
    assert_eq!(told(&send(&through(given), post()).await), "200");
    assert_eq!(recording.last().body().map(Bytes::as_ref), Some(b"bye".as_slice()));
}

pub async fn a_forgotten_rejection_is_a_failure() {
    let file = load(
        "async function check(input) { if (input.url.endsWith('bad')) throw new Error('must not pass') }
        function pre(input) { check(input); return true }",
    )
    .await;
    let hooks = || vec![pre(&file)];
    let (told, seen) = through_pre(hooks(), get("http://ok.test/bad")).await;
    assert_eq!(
        told,
        "fetch stopped, pre hook hook.js failed (left a rejected promise unhandled (Error: must not pass)): T"
    );
    assert!(seen.is_empty());
    assert_eq!(through_pre(hooks(), get("http://ok.test/good")).await.0, "200");

    let handled = load(
        "async function pre() { const p = Promise.reject(1); await null; await null; try { await p } catch { return true } }",
    )
    .await;
    assert_eq!(through_pre(vec![pre(&handled)], get("http://ok.test/")).await.0, "200");
}
