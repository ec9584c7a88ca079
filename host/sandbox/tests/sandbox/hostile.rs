//! Guests that rebuild their realm: what hooks see is what executes, nothing leads out, and
//! the process does not notice.

use std::sync::Arc;

use seam_contract::Verdict;
use seam_sandbox::{Limits, Outcome, Status};

use crate::support::{Recording, Watching, bare, json, on_host, run_with, seam, urls_of};

/// Runs a hostile script and checks that what the hook saw is what was executed.
fn attack(code: &str) -> (Outcome, Arc<Recording>) {
    let executor = Recording::echo();
    let hook = Watching::silent();
    let seam = seam(Some(hook.clone()), executor.clone());
    let owned = code.to_owned();
    let outcome = on_host(async move { run_with(&owned, Limits::default(), &seam).await });
    let documents = hook.documents.lock().unwrap();
    let hits = executor.hits.lock().unwrap();
    assert_eq!(documents.len(), hits.len(), "{code}");
    for (document, hit) in documents.iter().zip(hits.iter()) {
        let document = seam_contract::json::parse(document).unwrap();
        let field = |name: &str| document.get(name).and_then(|value| value.as_str().map(str::to_owned));
        assert_eq!(field("url").as_deref(), Some(hit.url().as_str()), "{code}");
        assert_eq!(field("method").as_deref(), Some(hit.method()), "{code}");
        let headers = document.get("headers").unwrap();
        for (name, value) in hit.headers().iter() {
            assert_eq!(
                headers.get(name).and_then(|seen| seen.as_str()),
                Some(value),
                "{code}: {name}"
            );
        }
    }
    drop(hits);
    (outcome, executor.clone())
}

#[test]
fn tampering_with_the_realm_changes_nothing_outside() {
    for tampering in [
        "Array.prototype.push = function() { this[0] = 'http://bad.test/'; return 1 }",
        "Object.defineProperty(Object.prototype, '0', {set(v) { throw 1 }, get() { return 'http://bad.test/' }})",
        "Object.defineProperty(Array.prototype, '0', {set(v) { throw 1 }, get() { return 'http://bad.test/' }, configurable: true})",
        "Object.prototype.url = 'http://bad.test/'; Object.prototype.method = 'DELETE'; Object.prototype.body = 'x'",
        "String.prototype.toLowerCase = String.prototype.toUpperCase = () => 'EVIL'",
        "String.prototype[Symbol.iterator] = function* () { yield 'http://bad.test/' }",
        "Array.prototype[Symbol.iterator] = function* () { yield 'http://bad.test/' }",
        "Symbol.prototype.toString = () => 'x'; Map.prototype.get = Map.prototype.set = WeakMap.prototype.get = () => ({})",
        "Reflect.apply = Reflect.ownKeys = Reflect.get = () => 'http://bad.test/'",
        "Object.defineProperty = Object.create = Object.getOwnPropertyDescriptor = () => ({})",
        "globalThis.URL = class { href = 'http://bad.test/' }",
        "Object.defineProperty(URL.prototype, 'href', {get: () => 'http://bad.test/'})",
        "URL.prototype.toString = () => 'http://bad.test/'; URL.prototype.toJSON = () => 'http://bad.test/'",
        "globalThis.Request = class { url = 'http://bad.test/' }",
        "Object.defineProperty(Request.prototype, 'url', {get: () => 'http://bad.test/'})",
        "Object.defineProperty(Request.prototype, 'headers', {get: () => ({'x-evil': '1'})})",
        "Headers.prototype.get = Headers.prototype.entries = Headers.prototype[Symbol.iterator] = () => [['x-evil', '1']]",
        "Uint8Array.prototype.slice = Uint8Array.prototype.set = () => new Uint8Array([1])",
        "Object.defineProperty(Object.getPrototypeOf(Uint8Array.prototype), 'byteLength', {get: () => 1e9})",
        "JSON.parse = JSON.stringify = () => { throw 1 }",
        "RegExp.prototype.exec = RegExp.prototype.test = () => null",
        "Function.prototype.bind = () => () => 'http://bad.test/'",
        "Error.prepareStackTrace = (e, sites) => { for (const s of sites) { globalThis.leak ??= s.getFunction?.() ?? s.getThis?.() } return '' }",
        "Error.captureStackTrace = () => { throw 1 }",
        "Object.freeze(Object.prototype); Object.freeze(Array.prototype); Object.freeze(globalThis)",
        "Promise.resolve = Promise.reject = Promise.all = () => { throw 1 }",
        "globalThis.Promise = class { constructor() { throw 1 } }",
    ] {
        let (outcome, executor) = attack(&format!(
            "{tampering};\nconst r = await fetch('http://ok.test/p', {{__proto__: null, method: 'PUT', headers: {{__proto__: null, a: '1'}}, body: null}}); r.status"
        ));
        assert_eq!(outcome.status, Status::Completed, "{tampering}: {outcome:?}");
        let hits = executor.hits.lock().unwrap();
        assert_eq!(hits.len(), 1, "{tampering}");
        assert_eq!(
            (hits[0].method(), hits[0].url().as_str()),
            ("PUT", "http://ok.test/p"),
            "{tampering}"
        );
        assert_eq!(
            hits[0].headers().iter().collect::<Vec<_>>(),
            [("a", "1")],
            "{tampering}"
        );
    }
}

#[test]
fn tampering_that_only_hurts_the_guest_hurts_only_the_guest() {
    for tampering in [
        "Promise.prototype.then = function() { return 1 }",
        "Promise.prototype.then = function(f) { f({status: 1, headers: [], body: new ArrayBuffer(0)}) }",
        "Promise.prototype.catch = () => { throw 1 }; Promise.prototype.finally = null",
        "Object.prototype.then = function(f) { f(1) }",
        "Function.prototype.call = function() { return 5 }",
        "Function.prototype.call = function(...a) { globalThis.raw = this; return Reflect.apply(this, a[0], a.slice(1)) }",
        "Function.prototype.apply = Function.prototype.call = null",
        "Object.defineProperty(Promise.prototype, 'constructor', {get() { throw 1 }})",
        "Object.defineProperty(Promise, Symbol.species, {get() { throw 1 }})",
        "delete globalThis.Promise; delete globalThis.Array; delete globalThis.Object; delete globalThis.Error",
        "Object.setPrototypeOf(Object.prototype, null); Object.setPrototypeOf(Array.prototype, null)",
    ] {
        let (outcome, executor) = attack(&format!(
            "{tampering};\ntry {{ const r = await fetch('http://ok.test/p'); console.log(r.status) }} catch (e) {{}} 1"
        ));
        assert!(
            matches!(outcome.status, Status::Completed | Status::Failed),
            "{tampering}: {outcome:?}"
        );
        for url in executor.urls() {
            assert_eq!(url, "http://ok.test/p", "{tampering}");
        }
    }
}

#[test]
fn raw_ops_do_no_more_than_fetch() {
    // deno_core calls an async op through a `call` that can be replaced. What that gives is
    // a function that sends a request through the same stack.
    let denying = Watching::new(|request| {
        Ok(if request.url().host_str() == Some("bad.test") {
            Verdict::Deny { reason: None }
        } else {
            Verdict::Abstain
        })
    });
    let executor = Recording::echo();
    let seam = seam(Some(denying), executor.clone());
    let code = "let raw = []; const call = Function.prototype.call;
        Function.prototype.call = function(...a) { raw.push(this); return Reflect.apply(this, a[0], a.slice(1)) };
        await fetch('http://ok.test/').catch(() => {});
        Function.prototype.call = call;
        const seen = [];
        for (const op of raw) {
            for (const args of [[], [0], [-1, -1, null, {}, [], 5], [77, 9, 'GET', 'http://bad.test/', [], null], [78, 9, 'GET', 'file:///etc/passwd', ['a'], null],
                                [79, 10, 'GET', 'http://bad.test/', ['a', 'b\\r\\nc', 'host', 'x'], new Uint8Array(9)],
                                [2 ** 31, 2 ** 40, Symbol(), {toString() { throw 1 }}, {length: 1e9}, new Proxy([], {})]]) {
                try { seen.push(typeof op(...args)) } catch (e) { seen.push(e?.name) }
            }
        }
        await new Promise(r => setTimeout(r, 50));
        seen.length";
    let outcome = on_host(async move { run_with(code, Limits::default(), &seam).await });
    assert!(
        matches!(outcome.status, Status::Completed | Status::Failed),
        "{outcome:?}"
    );
    for url in executor.urls() {
        assert_eq!(url, "http://ok.test/");
    }
    assert_eq!(json(&bare("1")), "1");
}

#[test]
fn values_that_change_are_read_once() {
    let (outcome, executor) = attack(
        "let n = 0; const url = {toString: () => 'http://ok.test/' + n++};
         let m = 0; const init = {get method() { return ['PUT', 'DELETE'][m++] ?? 'PATCH' }};
         let h = 0; init.headers = new Proxy({a: '1'}, {get: (t, k) => k === 'a' ? String(++h) : t[k]});
         const pairs = {*[Symbol.iterator]() { yield ['b', {toString: () => String(++h)}] }};
         await fetch(url, init); await fetch(url, {headers: pairs});
         const bytes = new Uint8Array([104, 105]); const f = fetch('http://ok.test/b', {method: 'POST', body: bytes}); bytes.fill(0); await f; [n, m]",
    );
    assert_eq!(json(&outcome), "[2,1]");
    let hits = executor.hits.lock().unwrap();
    assert_eq!(
        urls_of(&hits),
        ["http://ok.test/0", "http://ok.test/1", "http://ok.test/b"]
    );
    assert_eq!(hits[0].method(), "PUT");
    assert_eq!(hits[0].headers().get_all("a").collect::<Vec<_>>(), ["1"]);
    assert_eq!(hits[1].headers().get_all("b").collect::<Vec<_>>(), ["2"]);
    assert_eq!(hits[2].body().unwrap(), "hi");
}

#[test]
fn odd_header_names_are_plain_names() {
    let (outcome, executor) = attack(
        "const h = new Headers([['__proto__', 'x'], ['constructor', 'y'], ['toString', 'z']]);
         await fetch('http://ok.test/', {headers: h});
         await fetch('http://ok.test/', {headers: JSON.parse('{\"__proto__\": \"x\"}')});
         [[...h], h.get('__proto__'), ({}).x]",
    );
    assert_eq!(
        json(&outcome),
        r#"[[["__proto__","x"],["constructor","y"],["tostring","z"]],"x",null]"#
    );
    let hits = executor.hits.lock().unwrap();
    assert_eq!(hits[1].headers().iter().collect::<Vec<_>>(), [("__proto__", "x")]);
}

#[test]
fn there_is_no_way_to_the_ops() {
    let outcome = bare(
        "const found = [];
         const known = new Set();
         const walk = (value, path, depth) => {
             if (depth > 6 || value === null || (typeof value !== 'object' && typeof value !== 'function') || known.has(value)) return;
             known.add(value);
             for (const key of Reflect.ownKeys(value)) {
                 const name = typeof key === 'symbol' ? key.toString() : key;
                 if (/^op_|^ops$|^core$|primordials|internals|loadExtScript/.test(name)) found.push(path + '.' + name);
                 const d = Reflect.getOwnPropertyDescriptor(value, key);
                 for (const inner of [d?.value, d?.get, d?.set]) walk(inner, path + '.' + name, depth + 1);
             }
             walk(Object.getPrototypeOf(value), path + '.__proto__', depth + 1);
         };
         walk(globalThis, '', 0);
         for (const made of [new Response('x'), new Request('http://a/'), new Headers(), new FormData(), new Blob(), new URL('http://a/'), new AbortController(), new TextDecoder(),
                             new ReadableStream(), new EventTarget(), new Event('x'), new URLPattern({}), new DOMException('x')]) walk(made, made.constructor.name, 0);
         Error.prepareStackTrace = (e, sites) => sites;
         for (const site of new Error().stack) { walk(site, 'site', 3); walk(site.getFunction?.(), 'f', 3); walk(site.getThis?.(), 't', 3) }
         found",
    );
    assert_eq!(json(&outcome), "[]");
    let outcome =
        bare("Object.defineProperty(globalThis, 'Deno', {value: {}}); globalThis.__bootstrap = {}; typeof Deno.core");
    assert_eq!(json(&outcome), r#""undefined""#);
}

#[test]
fn functions_on_the_stack_stay_hidden() {
    let (outcome, _) = attack(
        "const got = [];
         Error.prepareStackTrace = (e, sites) => { for (const s of sites) got.push(typeof s.getFunction?.(), typeof s.getThis?.()); return 'x' };
         await fetch({toString() { new Error().stack; return 'http://ok.test/' }});
         new Headers({get a() { new Error().stack; return '1' }});
         got.every(kind => kind === 'undefined')",
    );
    assert_eq!(json(&outcome), "true");
}

#[test]
fn buffers_cannot_escape_the_limit() {
    let outcome = bare(
        "[new ArrayBuffer(8, {maxByteLength: 1e9}).maxByteLength ?? 'fixed', typeof new Uint8Array(1).buffer.resize,
          new (new Uint8Array(1).buffer.constructor)(1, {maxByteLength: 9}).resizable ?? 'fixed',
          (await new Response('x').arrayBuffer()).constructor === ArrayBuffer,
          structuredClone(new ArrayBuffer(4)).constructor === ArrayBuffer, typeof SharedArrayBuffer]",
    );
    assert_eq!(json(&outcome), r#"["fixed","undefined","fixed",true,true,"undefined"]"#);
}

#[test]
fn cloning_with_a_brand_of_ones_own_is_harmless() {
    for code in [
        "structuredClone({[Symbol.for('Deno.core.hostObject')]: () => 1})",
        "structuredClone({[Symbol.for('Deno.core.hostObject')]: 'x'})",
        "structuredClone({[Symbol.for('Deno.core.hostObject')]() { return {type: 'x', data: 1} }})",
        "const o = {[Symbol.for('Deno.core.hostObject')]: () => structuredClone(o)}; structuredClone(o)",
        "structuredClone(new ArrayBuffer(8), {transfer: [new ArrayBuffer(8)]})",
        "structuredClone(() => {})",
        "structuredClone({get a() { throw 1 }})",
        "atob({toString() { throw 1 }})",
        "new TextDecoder('utf-8', {fatal: true}).decode(new Uint8Array([255]))",
        "new TextDecoder().decode(new Uint8Array(8).subarray(4), {stream: true})",
        "new TextEncoder().encodeInto('\u{1f600}', new Uint8Array(1))",
        "new URL('http://[::1'.repeat(1000))",
        "new URLPattern('http://('.repeat(1000))",
        "crypto.getRandomValues(new Float32Array(4))",
        "crypto.getRandomValues(new Uint8Array(1e6))",
        "reportError(1)",
    ] {
        let outcome = bare(code);
        assert!(
            matches!(outcome.status, Status::Completed | Status::Failed),
            "{code}: {outcome:?}"
        );
    }
    assert_eq!(json(&bare("1")), "1");
}

#[test]
fn freezing_stops_the_guest_and_nothing_else() {
    let outcome = bare(
        "for (const k of Reflect.ownKeys(globalThis)) { try { Object.freeze(globalThis[k]); Object.freeze(globalThis[k].prototype) } catch {} } console.log('x'); 1",
    );
    assert_eq!(json(&outcome), "1");
    assert_eq!(outcome.console[0].text, "x");
}
