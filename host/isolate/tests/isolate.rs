//! Isolates under hostile code: every end is a value or a named stop, never a crash.

use std::{
    sync::{LazyLock, mpsc},
    thread,
    time::Duration,
};

use seam_isolate::{Cause, Isolate, Limits, Options, Stop, THREAD_STACK, init_platform};

/// A job for the thread that V8 was started on, the ancestor of all isolate threads.
type Job = Box<dyn FnOnce() + Send>;

static ANCESTOR: LazyLock<mpsc::Sender<Job>> = LazyLock::new(|| {
    let (jobs, inbox) = mpsc::channel::<Job>();
    thread::spawn(move || {
        init_platform();
        for job in inbox {
            thread::Builder::new().stack_size(THREAD_STACK).spawn(job).unwrap();
        }
    });
    jobs
});

/// Runs a test body inside a tokio runtime on a thread fit for isolates.
fn on_thread<T: Send + 'static>(body: impl AsyncFnOnce() -> T + Send + 'static) -> T {
    let (done, end) = mpsc::channel();
    let job: Job = Box::new(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        done.send(runtime.block_on(body())).unwrap();
    });
    ANCESTOR.send(job).unwrap();
    end.recv().expect("the test body panicked")
}

fn isolate() -> Isolate {
    Isolate::new(Options::default()).unwrap()
}

/// The JSON of what a script comes to.
fn eval(code: &'static str) -> Result<Option<String>, Stop> {
    on_thread(async move || {
        let mut isolate = isolate();
        let value = isolate.run_script("test.js", code)?;
        isolate.stringify_json(&value)
    })
}

fn json(code: &'static str) -> String {
    eval(code).unwrap().unwrap_or_else(|| "undefined".into())
}

#[test]
fn a_script_comes_to_a_value() {
    assert_eq!(json("1 + 1"), "2");
    assert_eq!(json("({a: [1, 'x', null]})"), r#"{"a":[1,"x",null]}"#);
    assert_eq!(json("undefined"), "undefined");
    assert_eq!(json("(() => {})"), "undefined");
}

#[test]
fn nothing_leads_out() {
    for name in [
        "Deno",
        "__bootstrap",
        "WebAssembly",
        "SharedArrayBuffer",
        "process",
        "require",
        "fetch",
        "fs",
        "mcp",
        "setTimeout",
    ] {
        let code: &'static str = Box::leak(format!("typeof {name}").into_boxed_str());
        assert_eq!(json(code), r#""undefined""#, "{name}");
    }
    assert_eq!(
        json("(() => {}).constructor('return typeof this.Deno')()"),
        r#""undefined""#
    );
}

#[test]
fn buffers_cannot_be_resizable() {
    assert_eq!(
        json(
            "const made = [
                new ArrayBuffer(8, {maxByteLength: 1 << 30}),
                new (new Uint8Array(1).buffer.constructor)(8, {maxByteLength: 1 << 30}),
                Reflect.construct(ArrayBuffer, [8, {maxByteLength: 1 << 30}]),
                new (class extends ArrayBuffer {})(8, {maxByteLength: 1 << 30}),
            ];
            [made.map(b => [b.byteLength, b.maxByteLength === undefined, typeof b.resize]),
             ArrayBuffer.isView(new Uint8Array(1)), new ArrayBuffer(4) instanceof ArrayBuffer,
             new Uint8Array([1, 2, 3]).buffer.slice(1).byteLength, ArrayBuffer.name, ArrayBuffer.length]"
        ),
        r#"[[[8,true,"undefined"],[8,true,"undefined"],[8,true,"undefined"],[8,true,"undefined"]],true,true,2,"ArrayBuffer",1]"#
    );
}

#[test]
fn what_is_thrown_is_told() {
    let Err(Stop::Threw(error)) = eval("function f() { throw new RangeError('too far') }\nf()") else {
        panic!("it did not throw");
    };
    assert_eq!((error.name.as_str(), error.message.as_str()), ("RangeError", "too far"));
    assert!(error.stack.unwrap().contains("test.js:1"));
    let Err(Stop::Threw(error)) = eval("throw 'text'") else {
        panic!("it did not throw");
    };
    assert_eq!((error.name.as_str(), error.message.as_str()), ("Error", "text"));
    let Err(Stop::Threw(error)) = eval("let let = 1") else {
        panic!("it did not throw");
    };
    assert_eq!(error.name, "SyntaxError");
}

#[test]
fn json_is_native() {
    let out = on_thread(async || {
        let mut isolate = isolate();
        isolate
            .run_script(
                "t.js",
                "JSON.parse = JSON.stringify = () => { throw 1 }; Object.prototype.polluted = 1",
            )
            .unwrap();
        let value = isolate
            .parse_json(r#"{"__proto__":{"a":1},"n":12,"s":"\ud800"}"#)
            .unwrap();
        let text = isolate.stringify_json(&value).unwrap().unwrap();
        let bad = isolate.parse_json("{").unwrap_err();
        (text, bad)
    });
    assert_eq!(out.0, r#"{"__proto__":{"a":1},"n":12,"s":"\ud800"}"#);
    assert!(matches!(out.1, Stop::Threw(error) if error.name == "SyntaxError"));
}

#[test]
fn functions_are_found_and_awaited() {
    let out = on_thread(async || {
        let mut isolate = isolate();
        isolate
            .run_script("t.js", "let n = 0; const pre = async (x) => { await null; return x + ++n }; function post() { return new Promise(() => {}) }")
            .unwrap();
        assert!(isolate.function("handle").unwrap().is_none());
        assert!(isolate.function("pre; n = 9").unwrap().is_none());
        let pre = isolate.function("pre").unwrap().unwrap();
        let argument = isolate.parse_json("40").unwrap();
        let mut answers = Vec::new();
        for _ in 0..2 {
            let value = isolate.call(&pre, std::slice::from_ref(&argument)).await.unwrap();
            answers.push(isolate.stringify_json(&value).unwrap().unwrap());
        }
        let post = isolate.function("post").unwrap().unwrap();
        (answers, isolate.call(&post, &[]).await.unwrap_err())
    });
    assert_eq!(out.0, ["41", "42"]);
    assert_eq!(out.1, Stop::Stalled);
}

#[test]
fn a_deadline_ends_script_and_the_isolate_goes_on() {
    let out = on_thread(async || {
        let mut isolate = isolate();
        isolate
            .run_script(
                "t.js",
                "let n = 0; function spin(on) { n++; if (on) for (;;); return n }",
            )
            .unwrap();
        let spin = isolate.function("spin").unwrap().unwrap();
        let (yes, no) = (
            isolate.parse_json("true").unwrap(),
            isolate.parse_json("false").unwrap(),
        );
        let mut ends = Vec::new();
        for _ in 0..3 {
            let armed = isolate.terminator().arm(Duration::from_millis(50));
            ends.push(isolate.call(&spin, std::slice::from_ref(&yes)).await.map(|_| ()));
            drop(armed);
            isolate.resume();
            let value = isolate.call(&spin, std::slice::from_ref(&no)).await.unwrap();
            isolate.stringify_json(&value).unwrap();
        }
        let value = isolate.call(&spin, &[no]).await.unwrap();
        (ends, isolate.stringify_json(&value).unwrap())
    });
    assert!(
        out.0.iter().all(|end| *end == Err(Stop::Terminated(Cause::TimeLimit))),
        "{:?}",
        out.0
    );
    assert_eq!(out.1.as_deref(), Some("7"));
}

#[test]
fn termination_survives_what_swallows_it() {
    // Converting this error runs its getter, while V8 has withdrawn the termination.
    let end = on_thread(async || {
        let mut isolate = isolate();
        let _armed = isolate.terminator().arm(Duration::from_millis(50));
        isolate
            .run_script(
                "t.js",
                "const e = new Error('x'); Object.defineProperty(e, 'stack', {get() { for (;;); }}); throw e",
            )
            .map(|_| ())
    });
    assert_eq!(end, Err(Stop::Terminated(Cause::TimeLimit)));
}

#[test]
fn memory_has_an_end_and_the_process_has_not() {
    let limits = Limits {
        heap: 32 << 20,
        array_buffers: 32 << 20,
    };
    for code in [
        "const a = []; for (;;) a.push({x: a.length, y: 'z' + a.length})",
        "new Array(3e7).fill(0).map(String)",
        "let s = 'x'; const all = []; for (;;) { s += s; if (s.length > 1e8) s = 'y' + all.length; all.push(s, JSON.stringify(s)) }",
        "const m = new Map(); for (let i = 0;; i++) m.set(i, [i])",
        "const all = []; for (;;) all.push(new Array(1e6).fill(all.length))",
        "const all = []; for (;;) all.push('ab'.repeat(1e7 + all.length).split('').join('-'))",
    ] {
        let end = on_thread(async move || {
            let mut isolate = Isolate::new(Options {
                limits,
                ..Default::default()
            })
            .unwrap();
            let _armed = isolate.terminator().arm(Duration::from_secs(60));
            isolate.run_script("t.js", code).map(|_| ())
        });
        assert_eq!(end, Err(Stop::Terminated(Cause::Memory)), "{code}");
    }
    let (end, left) = on_thread(async move || {
        let mut isolate = Isolate::new(Options {
            limits,
            ..Default::default()
        })
        .unwrap();
        let end = isolate
            .run_script("t.js", "const a = []; for (;;) a.push(new ArrayBuffer(8 << 20))")
            .map(|_| ());
        let memory = isolate.memory().clone();
        assert!(memory.was_refused());
        drop(isolate);
        (end, memory.used())
    });
    assert_eq!(end, Err(Stop::Terminated(Cause::Memory)));
    assert_eq!(left, 0, "memory was not returned");
}

#[test]
fn recursion_is_an_error() {
    let Err(Stop::Threw(error)) = eval("function f() { f() } f()") else {
        panic!("it did not throw");
    };
    assert_eq!(error.name, "RangeError");
    let nested = "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; a";
    assert!(matches!(eval(nested), Ok(Some(_)) | Err(Stop::Threw(_))));
}

#[test]
fn modules_wait_for_everything_and_import_nothing() {
    let out = on_thread(async || {
        let mut isolate = isolate();
        let value = isolate
            .run_module("file:///a.js", "export default await Promise.resolve(7)".into())
            .await
            .unwrap();
        isolate.stringify_json(&value).unwrap()
    });
    assert_eq!(out.as_deref(), Some("7"));
    let stalled = on_thread(async || {
        isolate()
            .run_module("file:///a.js", "await new Promise(() => {})".into())
            .await
            .map(|_| ())
    });
    assert_eq!(stalled, Err(Stop::Stalled));
    let imported = on_thread(async || {
        isolate()
            .run_module("file:///a.js", "import 'file:///etc/passwd'".into())
            .await
            .map(|_| ())
    });
    assert!(imported.is_err(), "{imported:?}");
}

#[test]
fn a_stop_from_elsewhere_reaches_an_idle_wait() {
    let end = on_thread(async || {
        let mut isolate = isolate();
        // Something outside of script keeps the loop waiting.
        isolate.runtime().op_state().borrow().external_ops_tracker.ref_op();
        let terminator = isolate.terminator().clone();
        let stop = tokio::spawn(async move { terminator.terminate(Cause::Cancelled) });
        let end = isolate
            .run_module("file:///a.js", "await new Promise(() => {})".into())
            .await
            .map(|_| ());
        stop.await.unwrap();
        end
    });
    assert_eq!(end, Err(Stop::Terminated(Cause::Cancelled)));
}
