//! Whatever a script does, it ends with a clear outcome and the next one runs.

use std::{future::pending, sync::Arc, time::Duration};

use seam_contract::Caller;
use seam_sandbox::{Limits, Script, Seam, Status, run};

use crate::support::{Hanging, bare, failure, json, on_host, run_with, seam, short};

fn ended(code: &str, limits: Limits) -> Status {
    let code = code.to_owned();
    on_host(async move { run_with(&code, limits, &Seam::default()).await }).status
}

#[test]
fn time_ends_every_kind_of_running_and_waiting() {
    for code in [
        "for (;;);",
        "/^(a+)+$/.test('a'.repeat(40) + 'b')",
        "await new Promise(r => setTimeout(r, 60000))",
        "const spin = () => Promise.resolve().then(spin); await spin()",
        "while (true) { try { for (;;); } catch {} finally { continue } }",
        "const e = new Error(); Object.defineProperty(e, 'stack', {get() { for (;;); }}); throw e",
        "export default {toJSON() { for (;;); }}",
        "setTimeout(function again() { setTimeout(again, 0) }, 0)",
        "queueMicrotask(function again() { queueMicrotask(again) })",
    ] {
        assert_eq!(ended(code, short(150)), Status::TimedOut, "{code}");
    }
    assert_eq!(json(&bare("1")), "1");
}

#[test]
fn what_cannot_come_is_not_waited_for() {
    let outcome = bare("await new Promise(() => {})");
    assert_eq!(outcome.status, Status::Failed);
    assert_eq!(failure(&outcome).0, "Stalled");
    let outcome = bare("async function main() { await new Promise(() => {}) } main()");
    assert_eq!(failure(&outcome).0, "Stalled");
}

#[test]
fn memory_ends_a_script_and_not_the_process() {
    let limits = Limits {
        heap_mb: 32,
        time: Duration::from_secs(60),
        ..Limits::default()
    };
    for code in [
        "const a = []; for (;;) a.push({x: a.length})",
        "const a = []; for (;;) a.push(new ArrayBuffer(64 << 20))",
        "const a = []; for (;;) a.push(new Uint8Array(1 << 20))",
        "const a = []; for (;;) a.push(new TextEncoder().encode('x'.repeat(1e6)))",
        "const a = []; for (;;) a.push(new Blob(['x'.repeat(1e6)]))",
        "const a = []; for (;;) a.push(new Response('x'.repeat(1e6)))",
        "let s = 'x'; const a = []; for (;;) { s += s; if (s.length > 1e8) s = 'y'; a.push(JSON.stringify(s)) }",
        "const a = []; for (;;) a.push('x'.repeat(2 ** 28) + a.length); ",
        "const m = new Map(); for (let i = 0;; i++) m.set(i, [i])",
        "structuredClone(Array.from({length: 1e5}, (_, i) => 'x'.repeat(1e4) + i).map(s => s.split('')))",
        "const m = new Map(); for (let i = 0; i < 2e5; i++) m.set(i, [i]); const a = []; for (;;) a.push(structuredClone(m))",
        "const a = []; for (;;) a.push(new Array(1e6).fill(a.length))",
        "new Array(3e7).fill(0).map(String)",
    ] {
        let outcome = {
            let code = code.to_owned();
            on_host(async move { run_with(&code, limits, &Seam::default()).await })
        };
        let status = outcome.status;
        // Building a text that is too long is a RangeError first.
        let range = outcome.error.as_ref().is_some_and(|error| error.name == "RangeError");
        assert!(status == Status::OutOfMemory || range, "{code}: {outcome:?}");
    }
    assert_eq!(json(&bare("1")), "1");
}

#[test]
fn huge_sparse_arrays_come_to_an_end() {
    let limits = Limits {
        heap_mb: 64,
        time: Duration::from_secs(2),
        ..Limits::default()
    };
    for code in [
        "new Array(1e9).fill(0)",
        "new Array(1e9).join('x')",
        "Array.prototype.indexOf.call({length: 2 ** 32}, 1)",
        "Array.prototype.sort.call({length: 2 ** 53 - 1})",
        "let n = 0; Array.prototype.sort.call({get length() { return n++ ? 2 ** 53 - 1 : 1 }})",
        "new Array(2 ** 32 - 1).toSorted()",
        "Array.prototype.toSorted.call({length: 2 ** 32 - 1})",
    ] {
        let status = ended(code, limits);
        assert!(
            matches!(status, Status::OutOfMemory | Status::TimedOut | Status::Failed) || code.contains("get length"),
            "{code}: {status}"
        );
    }
    assert_eq!(json(&bare("1")), "1");
}

#[test]
fn a_guest_that_does_not_listen_is_given_up() {
    let outcome = on_host(async {
        run_with(
            "Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)",
            short(100),
            &Seam::default(),
        )
        .await
    });
    assert_eq!(outcome.status, Status::TimedOut);
    assert_eq!(json(&bare("1")), "1");
}

#[test]
fn sorting_is_as_ever() {
    for (code, expected) in [
        ("[3, 1, 2].sort()", "[1,2,3]"),
        ("[3, 10, 2].toSorted((a, b) => a - b)", "[2,3,10]"),
        (
            "Array.prototype.sort.call({0: 'b', 1: 'a', 3: 'c', length: 5})",
            r#"{"0":"a","1":"b","2":"c","length":5}"#,
        ),
        (
            "Array.prototype.toSorted.call({0: 'b', 2: 'a', length: 3})",
            r#"["a","b",null]"#,
        ),
        (
            "try { [].sort(5) } catch (e) { e.name }; [[].sort.name, [].sort.length]",
            r#"["sort",1]"#,
        ),
    ] {
        assert_eq!(json(&bare(code)), expected, "{code}");
    }
}

#[test]
fn recursion_is_an_error_of_the_script() {
    assert_eq!(failure(&bare("function f() { f() } f()")).0, "RangeError");
    assert_eq!(
        bare("let a = []; for (let i = 0; i < 1e5; i++) a = [a]; console.log(a); a").status,
        Status::Completed
    );
    let outcome = bare("let p = {}; for (let i = 0; i < 1e5; i++) p = {p}; structuredClone(p)");
    assert!(outcome.status == Status::Failed || outcome.status == Status::Completed);
}

#[test]
fn output_is_bounded() {
    for code in [
        "console.log('x'.repeat(50_000_000))",
        "for (let i = 0; i < 1_000_000; i++) console.log('line ' + i)",
        "for (let i = 0; i < 1_000_000; i++) console.log('')",
        "console.log(Array.from({length: 1e5}, (_, i) => ({i, s: 'y'.repeat(100)})))",
    ] {
        let outcome = bare(code);
        assert_eq!(outcome.status, Status::Completed, "{code}: {:?}", outcome.error);
        let bytes: usize = outcome.console.iter().map(|line| line.text.len()).sum();
        assert!(bytes <= Limits::DEFAULT_OUTPUT_BYTES + 100, "{code}: {bytes}");
        let cut = outcome.console.last().unwrap().text.contains("output cut here");
        assert!(cut || bytes < Limits::DEFAULT_OUTPUT_BYTES, "{code}");
    }
    let outcome = bare("'x'.repeat(5_000_000)");
    assert!(outcome.result.unwrap().text().ends_with("the limit is 1048576]"));
}

#[test]
fn stopping_at_a_top_level_await_never_crashes() {
    on_host(async {
        for round in 0..200 {
            let hanging = Arc::new(Hanging::default());
            let seam = seam(None, hanging.clone());
            let code = match round % 3 {
                0 => "await new Promise(r => setTimeout(r, 60000))",
                1 => "await fetch('http://ok.test/')",
                _ => "for (;;) await null",
            };
            let caller = Arc::new(Caller::new("t"));
            let outcome = if round % 2 == 0 {
                run(Script::new(code), short(20), &seam, caller, None, pending()).await
            } else {
                let soon = tokio::time::sleep(Duration::from_millis(round % 15));
                run(Script::new(code), Limits::default(), &seam, caller, None, soon).await
            };
            let expected = if round % 2 == 0 {
                Status::TimedOut
            } else {
                Status::Cancelled
            };
            assert_eq!(outcome.status, expected, "round {round}: {outcome:?}");
            assert_eq!(*hanging.begun.lock().unwrap(), *hanging.dropped.lock().unwrap());
        }
    });
}

#[test]
fn cancelling_drops_what_is_under_way() {
    on_host(async {
        let hanging = Arc::new(Hanging::default());
        let (seam, begun) = (seam(None, hanging.clone()), hanging.begun.clone());
        let started = async move {
            while *begun.lock().unwrap() < 3 {
                tokio::task::yield_now().await;
            }
        };
        let script =
            Script::new("console.log('kept'); await Promise.all([1, 2, 3].map(i => fetch('http://ok.test/' + i)))");
        let outcome = run(
            script,
            Limits::default(),
            &seam,
            Arc::new(Caller::new("t")),
            None,
            started,
        )
        .await;
        assert_eq!(outcome.status, Status::Cancelled);
        assert_eq!(outcome.console[0].text, "kept");
        assert_eq!(*hanging.dropped.lock().unwrap(), 3);
    });
}

#[test]
fn dropping_the_run_drops_what_is_under_way() {
    on_host(async {
        let hanging = Arc::new(Hanging::default());
        let (seam, begun) = (seam(None, hanging.clone()), hanging.begun.clone());
        let script = Script::new("await fetch('http://ok.test/')");
        let run = run(
            script,
            Limits::default(),
            &seam,
            Arc::new(Caller::new("t")),
            None,
            pending(),
        );
        tokio::select! {
            _ = run => panic!("it ended"),
            () = async { while *begun.lock().unwrap() == 0 { tokio::task::yield_now().await } } => {}
        }
        while *hanging.dropped.lock().unwrap() == 0 {
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn scripts_do_not_wait_for_each_other() {
    on_host(async {
        let seam = Seam::default();
        let spinning = run_with("for (;;);", short(3000), &seam);
        let others = async {
            for _ in 0..5 {
                assert_eq!(json(&run_with("1", Limits::default(), &seam).await), "1");
            }
        };
        tokio::select! {
            outcome = spinning => panic!("the others took longer than {:?}", outcome.duration),
            () = others => {}
        }
    });
}
