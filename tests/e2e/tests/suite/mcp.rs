//! The protocol: a clean stream, and calls that end when the client says so.

use std::collections::HashMap;

use anyhow::Result;
use seam_e2e::{Files, Product, Recorder, Session, Wire};
use serde_json::{Value, json};

use crate::serve;

/// X01: whatever guests and hooks print, each line on standard output is the server's own.
#[tokio::test]
async fn nobody_else_writes_to_the_stream() -> Result<()> {
    let (server, files) = (Recorder::start().await?, Files::new()?);
    let forged = r#"{"jsonrpc":"2.0","id":7,"result":{"forged":true}}"#;
    let js = files.write(
        "chatty.js",
        &format!("console.log('{forged}'); function pre() {{ console.log('{forged}'); console.error('{forged}'); }}"),
    )?;
    let rego = files.write(
        "chatty.rego",
        &format!(
            "package mcp.fetch\npre := {{\"allow\": true}} if print({})",
            json!(forged)
        ),
    )?;
    let product = Product::find()?;
    let policies = json!({"fetch": {"pre": [{"url": js}, {"url": rego}]}});
    let mut wire = Wire::start(product.configured("serve", &policies)).await?;
    let attempts = format!(
        "const line = '{forged}\\n';
         console.log(line); console.info(line); console.warn(line); console.error(line); console.debug(line);
         for (const root of [globalThis.Deno?.core, globalThis.__bootstrap?.core, Object.getPrototypeOf(globalThis.Deno?.core ?? {{}})]) {{
           try {{ root?.print?.(line); root?.ops?.op_print?.(line, false); }} catch {{}}
         }}
         try {{ (() => {{}}).constructor('return this')().Deno?.core?.print(line); }} catch {{}}
         await fetch({});
         'done'",
        json!(server.url("/ok"))
    );
    wire.run_js(7, &attempts).await?;
    let answer = wire.answer(7).await?;
    assert_eq!(answer["result"]["structuredContent"]["status"], "completed", "{answer}");
    wire.line("this is no message").await?;
    wire.line("{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"no/such\"}")
        .await?;
    let answer = wire.answer(8).await?;
    assert!(answer.get("error").is_some(), "{answer}");
    wire.request(9, "ping", json!({})).await?;
    wire.answer(9).await?;

    // Every line parses as a message, or this is an error; and none is the forged one.
    let (messages, process) = wire.end().await?;
    assert!(process.status.success(), "{:?}", process.status);
    let mut answers: HashMap<u64, usize> = HashMap::new();
    for message in &messages {
        assert!(message["result"].get("forged").is_none(), "forged: {message}");
        if let Some(id) = message["id"].as_u64() {
            *answers.entry(id).or_default() += 1;
        }
    }
    assert_eq!(answers, HashMap::from([(0, 1), (7, 1), (8, 1), (9, 1)]));
    Ok(())
}

/// X03: what is cancelled stops, wherever it is, and is never answered; the server goes on.
#[tokio::test]
async fn a_cancelled_call_ends_wherever_it_is() -> Result<()> {
    let (server, files) = (Recorder::start().await?, Files::new()?);
    let slow = files.write(
        "slow.js",
        "function pre(input) { if (input.url.endsWith('/spin')) for (;;); if (input.url.endsWith('/never')) return new Promise(() => {}); }",
    )?;
    let product = Product::find()?;
    let source = |url: String| json!({"url": url, "timeout_ms": 600_000});
    let policies = json!({"fetch": {"pre": [source(slow), source(product.component("vectors")?)]}});
    let mut wire = Wire::start(product.configured("serve", &policies)).await?;

    let fetch = |path: &str, headers: &str| {
        let url = json!(server.url(path));
        format!("console.log('begun'); await fetch({url}, {{ headers: {headers} }}); 'answered'")
    };
    let calls = [
        (10, "console.log('begun'); for (;;) {}".to_owned()),
        (
            11,
            "console.log('begun'); await new Promise((resolve) => setTimeout(resolve, 1e9))".to_owned(),
        ),
        (12, fetch("/hang", "{}")),
        (13, fetch("/spin", "{}")),
        (14, fetch("/ok", "{ 'x-case': 'spin' }")),
    ];
    for (id, code) in &calls {
        wire.run_js(*id, code).await?;
        wire.progress(*id, "begun").await?;
        if *id == 12 {
            server
                .wait_for("the pending request", |hit| hit.path == "/hang")
                .await?;
        }
        wire.cancel(*id).await?;
        wire.request(*id + 100, "ping", json!({})).await?;
        wire.answer(*id + 100).await?;
    }
    server
        .wait_for("the end of the pending request", |hit| {
            hit.path == "/hang" && hit.closed
        })
        .await?;

    // An unknown id and one that is finished: nothing happens.
    wire.cancel(999).await?;
    wire.run_js(20, &fetch("/ok", "{}")).await?;
    let answer = wire.answer(20).await?;
    assert_eq!(
        answer["result"]["structuredContent"]["result"], "answered",
        "the hooks work again: {answer}"
    );
    wire.cancel(20).await?;
    wire.run_js(21, "'and ' + 'again'").await?;
    assert_eq!(
        wire.answer(21).await?["result"]["structuredContent"]["result"],
        "and again"
    );

    let (messages, process) = wire.end().await?;
    assert!(process.status.success(), "{:?}", process.status);
    let answered = |id: u64| messages.iter().filter(|message| message["id"] == json!(id)).count();
    assert_eq!(
        calls.map(|(id, _)| answered(id)),
        [0; 5],
        "a cancelled call was answered"
    );
    assert_eq!(server.targets(), ["/hang", "/ok"]);
    Ok(())
}

/// Cancelled calls give their places back: many more than can run at once.
#[tokio::test]
async fn a_cancelled_call_gives_its_place_back() -> Result<()> {
    let session = serve(json!({})).await?;
    for _ in 0..4 {
        let mut running = Vec::new();
        for _ in 0..16 {
            running.push(
                session
                    .begin(json!({"code": "console.log('begun'); for (;;) {}"}))
                    .await?,
            );
        }
        for call in &running {
            call.says("begun").await?;
        }
        for call in running {
            call.cancel().await?;
        }
    }
    assert_eq!(*session.run("6 * 7").await?.value()?, json!(42));
    session.close().await
}

/// Executions run beside each other, and a client's end is everybody's end.
#[tokio::test]
async fn the_end_of_input_ends_everything() -> Result<()> {
    let server = Recorder::start().await?;
    let product = Product::find()?;
    let mut wire = Wire::start(product.configured("serve", &json!({"fetch": {}}))).await?;
    wire.run_js(1, "console.log('begun'); for (;;) {}").await?;
    wire.progress(1, "begun").await?;
    wire.run_js(2, &format!("await fetch({})", json!(server.url("/hang"))))
        .await?;
    server
        .wait_for("the pending request", |hit| hit.path == "/hang")
        .await?;
    let (_, process) = wire.end().await?;
    assert!(process.status.success(), "{:?}", process.status);
    server.wait_for("its end", |hit| hit.closed).await?;
    Ok(())
}

/// `tools/list` is what a client can rely on.
#[tokio::test]
async fn the_tool_describes_itself() -> Result<()> {
    let session = serve(json!({})).await?;
    let tools = session.tools().await?;
    assert_eq!(tools.len(), 1);
    assert_eq!(tools[0].name, "run_js");
    let schema = Value::Object((*tools[0].input_schema).clone());
    assert_eq!(schema["required"], json!(["code"]));
    for (name, kind) in [
        ("code", "string"),
        ("timeout_secs", "integer"),
        ("heap_memory_max_mb", "integer"),
    ] {
        let property = &schema["properties"][name];
        // One plain type: clients convert what people type by it.
        assert_eq!(property["type"], kind, "{name}: {property}");
        assert!(
            property["description"].as_str().is_some_and(|text| text.len() > 20),
            "{name}: {property}"
        );
    }
    let run = session.run_with(json!({"code": "1", "timeout": 5})).await?;
    assert!(run.error()?.contains("timeout"), "{:?}", run.error());
    session.close().await
}

/// Operations of one call and of several run beside each other, half of them denied.
#[tokio::test]
async fn two_hundred_fetches_half_of_them_denied() -> Result<()> {
    let (server, files) = (Recorder::start().await?, Files::new()?);
    let product = Product::find()?;
    let policy = files.write(
        "policy.rego",
        "package mcp.fetch\nallow if to_number(trim_prefix(input.url_parsed.query, \"n=\")) % 2 == 0",
    )?;
    let layer = files.write("layer.js", "function handle(input, next) { return next(input); }")?;
    let stack = json!({
        "policies": [{"url": policy}],
        "stack": [{"url": product.component("stamp")?}, {"url": layer}, "@policy", "@execute"],
    });
    let session = serve(stack).await?;
    let code = format!(
        "const all = await Promise.allSettled(Array.from({{ length: 200 }}, (_, n) => fetch({} + n)));
         [all.every(({{ status }}, n) => (status === 'fulfilled') === (n % 2 === 0)),
          new Set(all.filter(({{ reason }}) => reason).map(({{ reason }}) => reason.message)).size]",
        json!(server.url("/ok?n="))
    );
    assert_eq!(*session.run(&code).await?.value()?, json!([true, 1]));
    assert_eq!(server.hits().len(), 100);
    session.close().await
}

/// Nothing is kept from one call to the next, nor from one session to the next.
#[tokio::test]
async fn every_call_starts_afresh() -> Result<()> {
    let product = Product::find()?;
    for _ in 0..2 {
        let session = Session::start(product.command("serve")).await?;
        assert_eq!(
            *session
                .run("globalThis.kept = (globalThis.kept ?? 0) + 1")
                .await?
                .value()?,
            json!(1)
        );
        assert_eq!(
            *session
                .run("globalThis.kept = (globalThis.kept ?? 0) + 1")
                .await?
                .value()?,
            json!(1)
        );
        session.ping().await?;
        session.close().await?;
    }
    Ok(())
}
