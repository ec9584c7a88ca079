//! Header fields: who may write which, whatever the way they come in.

use anyhow::Result;
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use seam_e2e::{Files, Product, Recorder};
use serde_json::json;

use crate::serve;

/// F09: a line break in a value is an error, and no byte of what follows it is sent.
#[tokio::test]
async fn a_line_break_never_reaches_the_wire() -> Result<()> {
    let (server, files) = (Recorder::start().await?, Files::new()?);
    let hook = files.write(
        "hook.js",
        r#"const EVIL = { "/value": { "x-a": "1\r\nX-Evil: 1" }, "/name": { "x-a: 1\r\nX-Evil": "1" }, "/host": { host: "ok.test\r\nX-Evil: 1" },
                          "/lf": { "x-a": "1\nX-Evil: 1" }, "/cr": { "x-a": "1\rX-Evil: 1" }, "/nul": { "x-a": "1\u0000" } };
           function pre(input) {
             const headers = EVIL[input.url_parsed.path];
             if (headers) return { input: { ...input, headers: { ...input.headers, ...headers } } };
           }"#,
    )?;
    let session = serve(json!({"pre": [{"url": hook}]})).await?;
    for headers in [
        r#"{ host: "ok.test\r\nX-Evil: 1" }"#,
        r#"{ "x-a": "1\r\nX-Evil: 1" }"#,
        r#"{ "x-a": "1\nX-Evil: 1" }"#,
        r#"{ "x-a: 1\r\nX-Evil": "1" }"#,
        r#"[["x-a", "1\r\nX-Evil: 1"]]"#,
    ] {
        let run = session
            .run(&format!(
                "await fetch({}, {{ headers: {headers} }})",
                json!(server.url("/ok"))
            ))
            .await?;
        let error = run.error()?;
        assert!(error.starts_with("TypeError: "), "{headers} gives {error}");
    }
    for path in ["/value", "/name", "/host", "/lf", "/cr", "/nul"] {
        let run = session
            .run(&format!("await fetch({})", json!(server.url(path))))
            .await?;
        let error = run.error()?;
        assert!(
            error.contains("fetch stopped, pre hook hook.js failed ("),
            "{path} gives {error}"
        );
    }
    let run = session
        .run(&format!("(await fetch({})).status", json!(server.url("/ok"))))
        .await?;
    assert_eq!(*run.value()?, json!(200));
    let evil = server
        .hits()
        .iter()
        .filter(|hit| hit.head.windows(6).any(|six| six.eq_ignore_ascii_case(b"x-evil")))
        .count();
    assert_eq!((evil, server.hits().len()), (0, 1));
    session.close().await
}

/// F09 for answers: a virtual executor cannot put one into a response.
#[tokio::test]
async fn a_line_break_never_reaches_the_script() -> Result<()> {
    let files = Files::new()?;
    let executor = files.write(
        "virtual.js",
        r#"const HEADERS = { "/value": { "x-a": "1\r\nX-Evil: 1" }, "/name": { "x-a\r\nX-Evil": "1" }, "/length": { "content-length": "1" } };
           function handle(input) {
             const headers = HEADERS[input.url_parsed.path] ?? { "x-a": "1" };
             return { status: 200, statusText: input.url_parsed.path === "/text" ? "a\r\nX-Evil: 1" : "", url: input.url, headers, body: "", bodyEncoding: "base64" };
           }"#,
    )?;
    let session = serve(json!({"stack": [{"execute": {"url": executor}}]})).await?;
    for path in ["/value", "/name", "/length", "/text"] {
        let run = session.run(&format!("await fetch('http://ok.test{path}')")).await?;
        let error = run.error()?;
        assert!(
            error.contains("fetch stopped, executor virtual.js failed ("),
            "{path} gives {error}"
        );
    }
    let run = session.run("[...(await fetch('http://ok.test/good')).headers]").await?;
    assert_eq!(*run.value()?, json!([["x-a", "1"]]));
    session.close().await
}

/// F10: routing and framing belong to the transport, whoever asks.
#[tokio::test]
async fn the_transport_frames_the_message() -> Result<()> {
    let server = Recorder::start().await?;
    let session = serve(json!({})).await?;
    let url = json!(server.url("/echo"));
    for headers in [
        "{ 'content-length': '1' }",
        "{ 'transfer-encoding': 'chunked' }",
        "{ host: 'bad.test' }",
        "{ connection: 'close' }",
        "{ 'Content-Length': '1', 'Transfer-Encoding': 'chunked', Host: 'bad.test' }",
    ] {
        let code = format!("await fetch({url}, {{ method: 'POST', headers: {headers}, body: 'abcdef' }})");
        let error = session.run(&code).await?.error()?;
        assert!(error.starts_with("TypeError: "), "{headers} gives {error}");
    }
    assert_eq!(server.hits().len(), 0);
    let run = session
        .run(&format!(
            "(await fetch({url}, {{ method: 'POST', body: 'abcdef' }})).status"
        ))
        .await?;
    assert_eq!(*run.value()?, json!(200));
    let hits = server.hits();
    assert_eq!(hits[0].header("content-length"), ["6"]);
    assert_eq!(hits[0].header("transfer-encoding"), [""; 0]);
    assert_eq!(hits[0].header("host"), [format!("127.0.0.1:{}", server.port())]);
    assert_eq!(hits[0].body, b"abcdef");
    session.close().await
}

/// W06: too many fields, too large ones and odd names fail that operation and nothing else.
#[tokio::test]
async fn monstrous_headers_from_a_hook_fail_that_operation_only() -> Result<()> {
    let (server, files) = (Recorder::start().await?, Files::new()?);
    let hook = files.write(
        "hook.js",
        r#"const MAKE = {
             "/many": () => Object.fromEntries(Array.from({ length: 40000 }, (_, at) => [`x-${at}`, "1"])),
             "/large": () => ({ "x-a": "v".repeat(20 << 20) }),
             "/space": () => ({ "x a": "1" }),
             "/empty": () => ({ "": "1" }),
             "/colon": () => ({ "x:a": "1" }),
             "/twice": () => ({ "x-a": "1", "X-A": "2" }),
             "/number": () => ({ "x-a": 1 }),
             "/upper": () => ({ "X-Upper": "1" }),
           };
           function pre(input) {
             const make = MAKE[input.url_parsed.path];
             if (make) return { input: { ...input, headers: make() } };
           }"#,
    )?;
    let session = serve(json!({"pre": [{"url": hook}]})).await?;
    for path in ["/many", "/large", "/space", "/empty", "/colon", "/twice", "/number"] {
        let run = session
            .run(&format!("await fetch({})", json!(server.url(path))))
            .await?;
        let error = run.error()?;
        assert!(
            error.contains("fetch stopped, pre hook hook.js failed ("),
            "{path} gives {error}"
        );
        assert!(error.len() < 8192, "{path} gives an error of {} bytes", error.len());
    }
    assert_eq!(server.hits().len(), 0);
    let run = session
        .run(&format!("(await fetch({})).status", json!(server.url("/upper"))))
        .await?;
    assert_eq!(*run.value()?, json!(404));
    assert_eq!(server.hits()[0].header("x-upper"), ["1"]);
    assert!(
        server.hits()[0].headers.contains(&("x-upper".into(), "1".into())),
        "names are sent in lower case"
    );
    session.close().await
}

/// J04: names that mean something to JavaScript are plain data on both sides of a hook.
#[tokio::test]
async fn names_of_the_language_are_plain_data() -> Result<()> {
    let (server, files) = (Recorder::start().await?, Files::new()?);
    let hook = files.write(
        "hook.js",
        r#"function pre(input) {
             const own = Object.hasOwn(input.headers, "__proto__");
             const plain = Object.getPrototypeOf(input.headers) === Object.prototype;
             return { reason: `${own} ${plain} ${({}).deny} ${({}).x}`, input: { ...input, headers: { ...input.headers, "x-seen": `${own} ${plain}` } } };
           }"#,
    )?;
    let session = serve(json!({"pre": [{"url": hook}]})).await?;
    let url = json!(server.url("/ok"));
    let code = format!(
        r#"const headers = JSON.parse('{{"\\u005f_proto__":"x","constructor":"y","hasOwnProperty":"z"}}');
           [(await fetch({url}, {{ headers }})).status, ({{}}).x === undefined]"#
    );
    for _ in 0..2 {
        assert_eq!(*session.run(&code).await?.value()?, json!([200, true]));
    }
    for hit in server.hits() {
        let values = ["__proto__", "constructor", "hasownproperty", "x-seen"].map(|name| hit.header(name).concat());
        assert_eq!(values, ["x", "y", "z", "true true"]);
    }
    session.close().await
}

/// Repeated fields arrive as the server sent them, and a hook can take some out.
#[tokio::test]
async fn repeated_fields_stay_apart_and_telling_ones_can_go() -> Result<()> {
    let server = Recorder::start().await?;
    let product = Product::find()?;
    let code = format!(
        "const {{ headers }} = await fetch({});
         [headers.getSetCookie(), headers.get('x-many'), headers.get('server'), headers.get('x-powered-by')]",
        json!(server.url("/headers"))
    );
    let session = serve(json!({})).await?;
    let bare = json!([["a=1; Path=/", "b=2, c"], "1, 2", "recorder/1", "recorder"]);
    assert_eq!(*session.run(&code).await?.value()?, bare);
    session.close().await?;
    for hook in ["fetch_hooks.js", "fetch_hooks.rego"] {
        let session = serve(json!({"post": [{"url": product.shipped(&format!("policies/{hook}"))?}]})).await?;
        assert_eq!(
            *session.run(&code).await?.value()?,
            json!([[], "1, 2", null, null]),
            "{hook}"
        );
        session.close().await?;
    }
    Ok(())
}

/// Latin-1 bytes in a value arrive as they were written, through hooks of every kind.
#[tokio::test]
async fn bytes_of_a_value_survive_every_hook() -> Result<()> {
    let (server, files) = (Recorder::start().await?, Files::new()?);
    let js = files.write(
        "mark.js",
        "function pre(input) { return { input: { ...input, headers: { ...input.headers, 'x-js': '1' } } }; }",
    )?;
    let rego = files.write(
        "mark.rego",
        "package mcp.fetch
         pre := {\"input\": object.union(input, {\"headers\": {\"x-rego\": \"1\"}})}",
    )?;
    let wasm = Product::find()?.component("vectors")?;
    let session = serve(json!({"pre": [{"url": js}, {"url": rego}, {"url": wasm}]})).await?;
    let code = format!(
        "(await (await fetch({}, {{ headers: {{ 'x-a': 'z\u{fc}\u{ff}', 'x-case': 'set:x-wasm=1' }} }})).json()).headers",
        json!(server.url("/echo"))
    );
    session.run(&code).await?.value()?;
    let hit = &server.hits()[0];
    let marks = ["x-a", "x-js", "x-rego", "x-wasm"].map(|name| hit.header(name).concat());
    assert_eq!(marks, ["z\u{fc}\u{ff}", "1", "1", "1"], "{}", BASE64.encode(&hit.head));
    session.close().await
}
