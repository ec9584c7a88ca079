//! F13: 256 different bytes, through everything a body can pass.

use anyhow::Result;
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use seam_e2e::{Files, Product, Recorder};
use serde_json::{Value, json};

use crate::serve;

/// What a script makes of the body at a URL: its length, and whether byte n is n.
fn check(url: &str) -> String {
    format!(
        "const bytes = new Uint8Array(await (await fetch({})).arrayBuffer());
         [bytes.length, bytes.every((byte, at) => byte === at)]",
        json!(url)
    )
}

#[tokio::test]
async fn bytes_come_through_every_kind_of_place() -> Result<()> {
    let (server, files) = (Recorder::start().await?, Files::new()?);
    let product = Product::find()?;
    let js_layer = files.write(
        "layer.js",
        "async function handle(input, next) { return { ...(await next(input)) }; }",
    )?;
    let js_post = files.write(
        "post.js",
        "function post(input, output) { return { output: { ...output } }; }",
    )?;
    let same = files.write("same.rego", "package mcp.fetch\npost := {\"output\": input.output}")?;
    let marked = files.write(
        "marked.rego",
        "package mcp.fetch\npost := {\"output\": object.union(input.output, {\"headers\": {\"x-seen\": \"1\"}})}",
    )?;
    let (pass, vectors) = (product.component("pass")?, product.component("vectors")?);
    let stacks: [(&str, Value); 7] = [
        ("no hook", json!({})),
        (
            "an identity JavaScript layer",
            json!({"stack": [{"url": js_layer}, "@execute"]}),
        ),
        ("an identity wasm layer", json!({"stack": [{"url": pass}, "@execute"]})),
        ("a JavaScript post hook", json!({"post": [{"url": js_post}]})),
        ("an identity Rego post hook", json!({"post": [{"url": same}]})),
        ("a rewriting Rego post hook", json!({"post": [{"url": marked}]})),
        (
            "all of them",
            json!({"stack": [{"url": js_layer}, {"url": pass}, {"url": vectors}, "@execute"]}),
        ),
    ];
    for (what, fetch) in stacks {
        let session = serve(fetch).await?;
        let run = session.run(&check(&server.url("/bytes"))).await?;
        assert_eq!(*run.value()?, json!([256, true]), "through {what}");
        session.close().await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_virtual_executor_gives_bytes_or_fails() -> Result<()> {
    let files = Files::new()?;
    let all: Vec<u8> = (0..=255).collect();
    let executor = files.write(
        "virtual.js",
        &format!(
            "const BODIES = {{ '/good': '{}', '/bad': 'AAA', '/worse': '\u{e9}', '/url-safe': '-_-_', '/text': 'not base64!' }};
             function handle(input) {{
               const answer = {{ status: 200, url: input.url, headers: {{}}, body: BODIES[input.url_parsed.path], bodyEncoding: 'base64' }};
               return input.url_parsed.path === '/utf8' ? {{ ...answer, body: 'x', bodyEncoding: 'utf8' }} : answer;
             }}",
            BASE64.encode(&all)
        ),
    )?;
    let session = serve(json!({"stack": [{"execute": {"url": executor}}]})).await?;
    assert_eq!(
        *session.run(&check("http://ok.test/good")).await?.value()?,
        json!([256, true])
    );
    for path in ["/bad", "/worse", "/url-safe", "/text", "/utf8", "/none"] {
        let error = session.run(&check(&format!("http://ok.test{path}"))).await?.error()?;
        assert!(
            error.contains("fetch stopped, executor virtual.js failed ("),
            "{path} gives {error}"
        );
    }
    session.close().await
}

#[tokio::test]
async fn bytes_of_a_request_arrive() -> Result<()> {
    let (server, files) = (Recorder::start().await?, Files::new()?);
    let hook = files.write(
        "hook.js",
        "function pre(input) { return { input: { ...input, method: 'PUT' } }; }",
    )?;
    let given = json!({"pre": [{"url": hook, "body": true}]});
    for fetch in [json!({}), json!({"pre": [{"url": hook}]}), given] {
        let session = serve(fetch).await?;
        let code = format!(
            "const body = Uint8Array.from({{ length: 256 }}, (_, at) => at);
             (await fetch({}, {{ method: 'POST', body }})).status",
            json!(server.url("/echo"))
        );
        assert_eq!(*session.run(&code).await?.value()?, json!(200));
        session.close().await?;
    }
    let all: Vec<u8> = (0..=255).collect();
    let hits = server.hits();
    let methods: Vec<_> = hits.iter().map(|hit| hit.method.as_str()).collect();
    assert_eq!(methods, ["POST", "PUT", "PUT"]);
    assert!(hits.iter().all(|hit| hit.body == all));
    Ok(())
}
