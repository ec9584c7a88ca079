//! How scripts run and what comes back: results, errors, console, TypeScript, timers.

use std::{future::pending, sync::Arc};

use seam_contract::Caller;
use seam_sandbox::{Level, Limits, Script, Seam, Status, Value, run};

use crate::support::{bare, failure, json, on_host, run_with, short};

#[test]
fn results_are_json_where_json_can_hold_them() {
    for (code, expected) in [
        ("1 + 1", "2"),
        ("'a\\u2028b'", "\"a\u{2028}b\""),
        ("({a: [1, null, {b: 'x'}]})", r#"{"a":[1,null,{"b":"x"}]}"#),
        ("export default {n: 1}", r#"{"n":1}"#),
        ("await Promise.resolve([1])", "[1]"),
        ("async function main() { await null; return 5 } main()", "5"),
        ("const x: number = 4; x as number", "4"),
        ("new Date(0)", r#""1970-01-01T00:00:00.000Z""#),
        ("null", "null"),
        ("'\\ud800'", r#""\ufffd""#),
        ("(() => {}).constructor('return 7')()", "7"),
    ] {
        assert_eq!(json(&bare(code)), expected, "{code}");
    }
    for (code, expected) in [
        ("new Map([['a', 1]])", "Map(1) { 'a' => 1 }"),
        ("12n", "12n"),
        ("NaN", "NaN"),
        ("(function f() {})", "[Function: f]"),
        ("const a = {}; a.a = a; a", "{ a: [Circular] }"),
        ("new Response('x', {status: 201})", "Response {"),
    ] {
        let outcome = bare(code);
        let Some(Value::Text(text)) = &outcome.result else {
            panic!("{code}: {outcome:?}");
        };
        assert!(text.starts_with(expected), "{code}: {text}");
    }
    for code in ["undefined", "let x = 1", "", "// nothing", "console.log(1)"] {
        let outcome = bare(code);
        assert_eq!((outcome.status, outcome.result), (Status::Completed, None), "{code}");
    }
}

#[test]
fn errors_name_their_line() {
    let outcome = bare("const a = 1;\n\nthrow new RangeError('too far');");
    assert_eq!(failure(&outcome), ("RangeError", "too far"));
    assert!(outcome.error.unwrap().stack.unwrap().contains("run_js.ts:3:"));
    assert_eq!(failure(&bare("let a = ;")).0, "SyntaxError");
    let (name, message) = ("SyntaxError", "line 2");
    let outcome = bare("let a: number = 1;\nenum B { C }");
    assert!(
        failure(&outcome).0 == name && failure(&outcome).1.contains(message),
        "{outcome:?}"
    );
    let outcome = bare("let a: number = 1;\nlet b: = 2;");
    assert!(
        failure(&outcome).0 == name && failure(&outcome).1.contains(message),
        "{outcome:?}"
    );
    assert_eq!(failure(&bare("throw 'a text'")), ("Error", "a text"));
    assert_eq!(
        failure(&bare("Promise.reject(new TypeError('left'))")),
        ("TypeError", "left")
    );
    assert_eq!(
        failure(&bare(
            "const p = Promise.reject(new EvalError('kept')); p.catch(() => {}); p"
        )),
        ("EvalError", "kept")
    );
    assert_eq!(
        failure(&bare("setTimeout(() => { throw new EvalError('later') }, 1)")),
        ("EvalError", "later")
    );
    assert_eq!(
        failure(&bare("queueMicrotask(() => { throw new EvalError('soon') })")),
        ("EvalError", "soon")
    );
    let outcome = bare(
        "new EventTarget().dispatchEvent(new Event('x')); const t = new EventTarget(); \
                        t.addEventListener('x', () => { throw new EvalError('heard') }); t.dispatchEvent(new Event('x'))",
    );
    assert_eq!(failure(&outcome), ("EvalError", "heard"));
}

#[test]
fn files_go_by_their_name() {
    let outcome = on_host(async {
        let script = Script::of_file("dir/job.mjs", "let a: number = 1");
        run(
            script,
            Limits::default(),
            &Seam::default(),
            Arc::new(Caller::new("t")),
            None,
            pending(),
        )
        .await
    });
    assert_eq!(failure(&outcome).0, "SyntaxError");
    let outcome = on_host(async {
        let script = Script::of_file("dir/job.mjs", "throw new Error('x')");
        run(
            script,
            Limits::default(),
            &Seam::default(),
            Arc::new(Caller::new("t")),
            None,
            pending(),
        )
        .await
    });
    assert!(outcome.error.unwrap().stack.unwrap().contains("dir/job.mjs:1:7"));
}

#[test]
fn imports_are_refused_by_name() {
    for code in [
        "import fs from 'node:fs'; 1",
        "await import('https://ok.test/x.js')",
        "import x from './x.json' with {type: 'json'}; x",
    ] {
        let outcome = bare(code);
        assert_eq!(outcome.status, Status::Failed, "{code}");
        assert!(failure(&outcome).1.contains("cannot import"), "{code}: {outcome:?}");
    }
}

#[test]
fn the_console_is_captured() {
    let outcome = bare(
        "console.log('a', 1, {b: [1, 'x']}); console.info('i'); console.warn('w\\nw'); console.error(new Error('e').message);
         console.debug(null, undefined, true, 5n, Symbol('s')); console.log('%s is %d%%', 'x', 5, 'rest');
         console.log('\\ud800|'); console.group('g'); console.log('in'); console.groupEnd();
         console.log(new Proxy({a: 1}, {get() { throw 1 }})); console.log({get a() { throw 1 }});
         console.log(Object.create(null), new (class A { #p = 1; q = 2 })());
         console.assert(1 === 2, 'sum'); console.count(); console.count()",
    );
    let lines: Vec<_> = outcome
        .console
        .iter()
        .map(|line| (line.level, line.text.as_str()))
        .collect();
    assert_eq!(
        lines,
        [
            (Level::Log, "a 1 { b: [ 1, 'x' ] }"),
            (Level::Info, "i"),
            (Level::Warn, "w\nw"),
            (Level::Error, "e"),
            (Level::Debug, "null undefined true 5n Symbol(s)"),
            (Level::Log, "x is 5% rest"),
            (Level::Log, "\u{fffd}|"),
            (Level::Log, "g"),
            (Level::Log, "  in"),
            (Level::Log, "{ a: 1 }"),
            (Level::Log, "{ a: [Getter] }"),
            (Level::Log, "[Object: null prototype] {} A { q: 2 }"),
            (Level::Error, "Assertion failed: sum"),
            (Level::Log, "default: 1"),
            (Level::Log, "default: 2"),
        ]
    );
}

#[test]
fn lines_arrive_while_the_script_runs() {
    let (seen, outcome) = on_host(async {
        let (lines, mut seen) = tokio::sync::mpsc::unbounded_channel();
        let script = Script::new("console.log('first'); for (;;);");
        let caller = Arc::new(Caller::new("t"));
        let seam = Seam::default();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let run = run(script, Limits::default(), &seam, caller, Some(lines), async {
            let _ = stopped.await;
        });
        let watch = async {
            let line = seen.recv().await.unwrap();
            stop.send(()).unwrap();
            line
        };
        let (outcome, line) = tokio::join!(run, watch);
        (line, outcome)
    });
    assert_eq!(seen.text, "first");
    assert_eq!(outcome.status, Status::Cancelled);
    assert_eq!(outcome.console.len(), 1);
}

#[test]
fn timers_keep_a_script_alive_until_they_are_done() {
    let outcome = bare("setTimeout(() => console.log('late'), 20); setTimeout(a => console.log(a), 1, 'arg'); 'early'");
    assert_eq!(json(&outcome), r#""early""#);
    assert_eq!(
        outcome.console.iter().map(|l| l.text.as_str()).collect::<Vec<_>>(),
        ["arg", "late"]
    );
    let outcome = bare("const t = setTimeout(() => {}, 2 ** 31 - 1); clearTimeout(t); console.log('done')");
    assert_eq!(outcome.status, Status::Completed);
    let outcome = bare(
        "let n = 0; await new Promise(r => { const i = setInterval(() => { if (++n === 3) { clearInterval(i); r() } }, 1) }); n",
    );
    assert_eq!(json(&outcome), "3");
    let outcome = on_host(async { run_with("setInterval(() => {}, 5); 1", short(200), &Seam::default()).await });
    assert_eq!(outcome.status, Status::TimedOut);
}

#[test]
fn what_is_not_configured_does_not_exist() {
    for name in [
        "fetch",
        "Deno",
        "process",
        "require",
        "__bootstrap",
        "__seam",
        "WebAssembly",
        "SharedArrayBuffer",
        "fs",
        "mcp",
        "Worker",
        "BroadcastChannel",
        "MessageChannel",
        "navigator",
        "XMLHttpRequest",
        "WebSocket",
        "localStorage",
        "module",
        "global",
    ] {
        assert_eq!(json(&bare(&format!("typeof {name}"))), r#""undefined""#, "{name}");
    }
}

#[test]
fn limits_out_of_range_are_refused() {
    let limits = Limits {
        heap_mb: 1,
        ..Limits::default()
    };
    let outcome = on_host(async move { run_with("1", limits, &Seam::default()).await });
    assert!(failure(&outcome).1.contains("from 16 to 2048 MiB"), "{outcome:?}");
}
