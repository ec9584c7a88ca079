//! Scripts that go wrong: each gets a clear result, the server lives, the next call works.

use anyhow::Result;
use seam_e2e::Session;
use serde_json::json;

use crate::serve;

/// The call after a bad one.
async fn works(session: &Session, after: &str) -> Result<()> {
    assert_eq!(
        *session.run("[1, 2].map((n) => n * 2)").await?.value()?,
        json!([2, 4]),
        "after {after}"
    );
    Ok(())
}

#[tokio::test]
async fn mistakes_of_a_script_are_results() -> Result<()> {
    let session = serve(json!({})).await?;
    for (code, says) in [
        ("const a = ;", "SyntaxError: "),
        ("let a: number = 1; a +", "SyntaxError: "),
        ("throw new Error('on purpose')", "Error: on purpose"),
        ("await Promise.reject(new RangeError('later'))", "RangeError: later"),
        ("throw 'a text'", "a text"),
        ("throw null", "null"),
        ("throw { toString() { throw 1; } }", ""),
        ("nowhere()", "ReferenceError: "),
        ("null.x", "TypeError: "),
        ("import 'node:fs'", ""),
        ("await import('https://bad.test/x.js')", ""),
        ("await new Promise(() => {})", ""),
        ("(function deep() { return deep() + 1; })()", "RangeError: "),
    ] {
        let run = session.run(code).await?;
        let error = run.error()?;
        assert!(error.contains(says), "{code} gives {error}");
        assert_eq!(run.status(), "failed", "{code} gives {}", run.content);
        assert!(run.text.len() < 16 << 10, "{code} gives {} bytes", run.text.len());
        works(&session, code).await?;
    }
    session.close().await
}

#[tokio::test]
async fn an_endless_script_ends_at_its_limit() -> Result<()> {
    let session = serve(json!({})).await?;
    for code in [
        "for (;;) {}",
        "for (;;) await null",
        "/^(a+)+$/.test('a'.repeat(40) + 'b')",
        "setInterval(() => {}, 1); 'never'",
        "await new Promise((resolve) => setTimeout(resolve, 1e9))",
        "try { for (;;) {} } finally { for (;;) {} }",
        "const again = () => Promise.resolve().then(again); await again()",
    ] {
        let run = session.run_with(json!({"code": code, "timeout_secs": 1})).await?;
        assert!(run.is_error, "{code} gives {}", run.content);
        assert_eq!(run.status(), "timed_out", "{code} gives {}", run.content);
        works(&session, code).await?;
    }
    session.close().await
}

#[tokio::test]
async fn a_script_that_takes_all_memory_ends_alone() -> Result<()> {
    let session = serve(json!({})).await?;
    for code in [
        "const all = []; for (;;) all.push(new Array(1e5).fill(all.length))",
        "const all = []; for (;;) all.push(new ArrayBuffer(64 << 20))",
        "const all = []; for (;;) all.push('x'.repeat(1 << 20) + all.length)",
        "new Array(1e9).fill(0)",
        "let text = 'xy'; for (;;) text += text",
        "const all = new Map(); for (let at = 0; ; at++) all.set(at, { at })",
    ] {
        let run = session
            .run_with(json!({"code": code, "heap_memory_max_mb": 32, "timeout_secs": 60}))
            .await?;
        assert!(run.is_error, "{code} gives {}", run.content);
        assert!(
            matches!(run.status(), "out_of_memory" | "failed"),
            "{code} gives {}",
            run.content
        );
        works(&session, code).await?;
    }
    session.close().await
}

/// X07: output is bounded and says where it was cut.
#[tokio::test]
async fn huge_output_is_cut_with_a_mark() -> Result<()> {
    let session = serve(json!({})).await?;
    for code in [
        "console.log('x'.repeat(50_000_000)); 'end'",
        "for (let at = 0; at < 1_000_000; at++) console.log('line ' + at); 'end'",
        "'y'.repeat(50_000_000)",
        "Array.from({ length: 200_000 }, (_, at) => ({ at, text: 'some text' }))",
        "throw new Error('z'.repeat(50_000_000))",
    ] {
        let run = session
            .run_with(json!({"code": code, "heap_memory_max_mb": 512, "timeout_secs": 120}))
            .await?;
        let size = run.content.to_string().len() + run.text.len();
        assert!(size < 16 << 20, "{code} gives {size} bytes");
        assert!(
            run.content["truncated"] == json!(true) || run.is_error,
            "{code} was not cut"
        );
        if run.content["truncated"] == json!(true) {
            assert!(run.text.contains("cut"), "{code} does not say that it was cut");
        }
        works(&session, code).await?;
    }
    session.close().await
}

/// X07: whatever characters a script writes, the answer is one line of valid JSON.
#[tokio::test]
async fn odd_characters_arrive_or_are_replaced() -> Result<()> {
    let session = serve(json!({})).await?;
    let run = session
        .run(r#"console.log("a\u2028b\u0000c\nd\ud800e"); "\u2029\u0000\ud83d\ude00""#)
        .await?;
    assert_eq!(*run.value()?, json!("\u{2029}\0\u{1f600}"));
    assert_eq!(run.content["console"][0]["text"], json!("a\u{2028}b\0c\nd\u{fffd}e"));
    session.close().await
}

/// What a script does to its realm, the hooks see what is sent.
#[tokio::test]
async fn a_patched_realm_changes_nothing_on_the_way() -> Result<()> {
    let server = seam_e2e::Recorder::start().await?;
    let files = seam_e2e::Files::new()?;
    let hook = files.write(
        "hook.js",
        "function pre(input) { if (input.url.includes('/secret')) return { allow: false, reason: input.url_parsed.path }; }",
    )?;
    let session = serve(json!({"pre": [{"url": hook}]})).await?;
    for patch in [
        "String.prototype.toString = () => 'http://ok.test/'",
        "URL = class { constructor() { this.href = 'x'; } }",
        "Object.defineProperty(URL.prototype, 'href', { get: () => 'http://ok.test/' })",
        "Function.prototype.call = function () { return 'x'; }",
        "Function.prototype.apply = Function.prototype.bind = () => () => 'x'",
        "Array.prototype.push = Array.prototype.map = () => []",
        "Array.prototype[Symbol.iterator] = function* () {}",
        "Promise.prototype.then = function (done) { done({ status: 200 }); }",
        "Object.prototype.url = 'http://ok.test/'; Object.prototype.method = 'GET'",
        "Object.defineProperty(Object.prototype, 'headers', { get: () => [['x-forged', '1']] })",
        "Error.prepareStackTrace = () => 'x'",
        "Reflect.apply = Reflect.get = Object.keys = Object.entries = () => []",
        "JSON.stringify = JSON.parse = () => '{}'",
        "Proxy = Map = Set = WeakMap = class {}",
    ] {
        let secret = json!(server.url("/secret"));
        let code = format!(
            "const real = fetch; const catching = async (work) => {{ try {{ return await work(); }} catch (error) {{ return error; }} }};
             try {{ {patch}; }} catch {{}}
             await catching(() => real({secret}));
             await catching(() => real({{ toString: () => {secret} }}));
             await catching(() => real(new Request({secret})));"
        );
        session.run_with(json!({"code": code, "timeout_secs": 10})).await?;
        assert_eq!(server.hits_at("/secret").len(), 0, "{patch}");
    }
    let seen: Vec<_> = server.hits().iter().flat_map(|hit| hit.headers.clone()).collect();
    assert!(!seen.iter().any(|(name, _)| name == "x-forged"), "{seen:?}");
    works(&session, "all of them").await?;
    // An argument that is another one each time it is asked is asked once.
    let code = format!(
        "let asked = 0; const url = {{ toString: () => (asked++ === 0 ? {} : {}) }}; (await fetch(url)).status + asked",
        json!(server.url("/ok")),
        json!(server.url("/secret"))
    );
    assert_eq!(*session.run(&code).await?.value()?, json!(201));
    assert_eq!(server.hits_at("/secret").len(), 0);
    session.close().await
}
