//! What a hook finds in its realm, and what it can not do from there.

use seam_contract::document::Bodies;
use seam_hook_js::{GLOBALS, JsFile};

use crate::harness::*;

/// What a function says when it is called as a pre hook: its reason.
async fn said(file: &std::sync::Arc<JsFile>, rule: &str) -> String {
    let hook = file.pre_hook(rule, AMPLE, Bodies::Withheld).unwrap();
    let (told, _) = through_pre(vec![hook], get("http://ok.test/")).await;
    let reason = told
        .strip_prefix("fetch denied by pre hook (")
        .and_then(|rest| rest.strip_suffix("): T"));
    reason.unwrap_or_else(|| panic!("{told}")).to_owned()
}

pub async fn nothing_of_the_host_has_a_name() {
    let file = load(
        "const absent = ['fetch', 'fs', 'Deno', '__bootstrap', 'mcp', 'WebAssembly', 'SharedArrayBuffer',
            'setTimeout', 'setInterval', 'setImmediate', 'process', 'require', 'module', 'exports', 'Bun',
            'FinalizationRegistry', 'XMLHttpRequest', 'WebSocket', 'Worker', 'navigator', 'importScripts', 'gc', 'd8',
            'print', 'read', 'load', 'quit', 'version', 'Realm', 'ShadowRealm', 'window', 'self', 'global'];
        function pre() {
            const found = absent.filter((name) => name in globalThis || typeof globalThis[name] !== 'undefined');
            return {allow: false, reason: found.join() || 'none'};
        }",
    )
    .await;
    assert_eq!(said(&file, "pre").await, "none");
}

pub async fn the_globals_are_the_documented_ones() {
    let file = load(
        "const names = Object.getOwnPropertyNames(globalThis).filter((name) => name !== 'pre');
        const symbols = Object.getOwnPropertySymbols(globalThis).map(String);
        function pre() { return {allow: false, reason: names.filter((name) => name !== 'Temporal').concat(symbols).sort().join(' ')} }",
    )
    .await;
    assert_eq!(said(&file, "pre").await, GLOBALS.join(" "));
}

pub async fn code_from_texts_and_imports_are_refused() {
    let file = load(
        "const tries = {
            eval: () => eval('1'),
            indirect: () => (0, eval)('1'),
            Function: () => Function('return 1')(),
            constructed: () => (() => {}).constructor('return this')(),
            async: () => (async () => {}).constructor('return 1')(),
            generator: () => (function* () {}).constructor('yield 1')(),
            resizable: () => new ArrayBuffer(1, {maxByteLength: 1 << 30}).resize(1 << 20),
        };
        async function pre() {
            const passed = [];
            for (const [name, attempt] of Object.entries(tries)) {
                try { await attempt(); passed.push(name) } catch {}
            }
            return {allow: false, reason: passed.join() || 'none'};
        }
        async function imports() {
            const ends = [];
            for (const what of ['http://ok.test/x.js', 'file:///etc/hostname', 'data:text/javascript,1', './x.js', 'ext:core/mod.js', 'node:fs', 'npm:x', '\\ud800']) {
                try { await import(what); ends.push('passed') } catch (error) { ends.push(error.message) }
            }
            try { await import('x', {with: {type: 'json'}}); ends.push('passed') } catch (error) { ends.push(error.message) }
            return {allow: false, reason: [...new Set(ends)].join()};
        }
        async function deferred() {
            try { await import.defer('x'); return {allow: false, reason: 'passed'} }
            catch (error) { return {allow: false, reason: error.message} }
        }",
    )
    .await;
    assert_eq!(said(&file, "pre").await, "none");
    assert_eq!(said(&file, "imports").await, "import is not available in a hook");
    assert_eq!(said(&file, "deferred").await, "import is not available in a hook");
}

pub async fn the_console_is_harmless() {
    let file = load(
        "console.log('evaluated', {a: [1]}, new Error('shown'));
        function pre() {
            const cycle = {};
            cycle.cycle = cycle;
            console.log();
            console.error(cycle, Symbol('s'), 1n, undefined, null, () => 1, new Proxy({}, {get() { throw 1 }}));
            console.warn({toString() { throw 1 }, toJSON() { throw 2 }});
            console.info('x'.repeat(1 << 20) + '\\ud800\\n{\"jsonrpc\":\"2.0\"}');
            for (let i = 0; i < 50; i += 1) console.debug('x'.repeat(4000), i);
            delete Object.prototype.toString;
            JSON.stringify = String = null;
            console.trace({still: 'there'});
            return {allow: false, reason: 'done'};
        }",
    )
    .await;
    assert_eq!(said(&file, "pre").await, "done");
    assert_eq!(said(&file, "pre").await, "done");
}

pub async fn what_a_file_does_to_its_realm_does_not_reach_the_host() {
    let file = load(
        "for (const name of ['JSON', 'Promise', 'Array', 'Object', 'String', 'Error', 'TypeError', 'Symbol', 'Function', 'console']) {
            globalThis[name] = undefined;
        }
        const evil = () => { throw 'evil' };
        [].__proto__.push = [].__proto__.map = evil;
        (() => {}).__proto__.call = (() => {}).__proto__.apply = (() => {}).__proto__.bind = evil;
        (async () => {})().__proto__.then = (async () => {})().__proto__.catch = evil;
        ({}).__proto__.__defineSetter__('url', evil);
        ({}).__proto__.__defineSetter__('kind', evil);
        ({}).__proto__.__defineGetter__('then', () => undefined);
        async function handle(input, next) {
            try { await next({...input, url: 'http://ok.test/stop'}) }
            catch (error) { return await next({...input, url: 'http://ok.test/was-' + error.kind}) }
        }",
    )
    .await;
    let gate = load("function pre(i) { return !i.url.endsWith('/stop') }").await;
    let recording = Recording::echo();
    let mut layers = vec![layer(&file)];
    layers.extend(seam_contract::Stack::chain(vec![pre(&gate)], Vec::new(), Vec::new()));
    let stack = stack(layers, recording.clone());
    for _ in 0..2 {
        assert_eq!(told(&send(&stack, get("http://ok.test/")).await), "200");
    }
    assert_eq!(recording.urls(), ["http://ok.test/was-denied"; 2]);
}
