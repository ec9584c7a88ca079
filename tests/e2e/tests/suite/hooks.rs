//! Hooks in company, and hooks that fail.

use anyhow::Result;
use seam_e2e::{Files, Product, Recorder};
use serde_json::{Value, json};

use crate::serve;

/// H01: who abstains undoes nothing, in any language and any mix.
#[tokio::test]
async fn an_abstention_keeps_what_came_before() -> Result<()> {
    let (server, files) = (Recorder::start().await?, Files::new()?);
    let adds = files.write(
        "adds.js",
        "function pre(i) { return { input: { ...i, headers: { ...i.headers, 'x-a': '1' } } }; }",
    )?;
    let silent = files.write("silent.js", "function pre() {}")?;
    let undefined = files.write(
        "undefined.rego",
        "package mcp.fetch\npre := {\"allow\": false} if input.url == \"never\"",
    )?;
    let wasm = Product::find()?.component("vectors")?;
    let abstain = [silent, undefined, wasm].map(|url| json!({"url": url}));
    for turn in 0..abstain.len() {
        let mut pre = abstain.to_vec();
        pre.rotate_left(turn);
        pre.insert(0, json!({"url": adds}));
        let session = serve(json!({ "pre": pre })).await?;
        session
            .run(&format!("await fetch({})", json!(server.url("/ok"))))
            .await?;
        session.close().await?;
    }
    let marks: Vec<_> = server.hits().iter().map(|hit| hit.header("x-a").concat()).collect();
    assert_eq!(marks, ["1", "1", "1"]);
    Ok(())
}

/// H02: the order of the configuration decides, not who is faster.
#[tokio::test]
async fn latency_does_not_decide() -> Result<()> {
    let (server, files) = (Recorder::start().await?, Files::new()?);
    let slow = files.write(
        "slow.js",
        "async function pre(input) {
           for (let sum = 0, at = 0; at < 3e6; at++) sum += at;
           await null;
           return { input: { ...input, url: input.url + 'a' } };
         }",
    )?;
    let quick = files.write(
        "quick.js",
        "function pre(input) { return { input: { ...input, url: input.url + '/b' } }; }",
    )?;
    let session = serve(json!({"pre": [{"url": slow}, {"url": quick}]})).await?;
    let code = format!(
        "await Promise.all(Array.from({{ length: 25 }}, () => fetch({})));",
        json!(server.url("/"))
    );
    let (one, two) = tokio::join!(session.run(&code), session.run(&code));
    one?.value()?;
    two?.value()?;
    assert_eq!(server.targets(), vec!["/a/b"; 50]);
    session.close().await
}

/// One way to fail, and the text that must name it.
struct Failure {
    source: Value,
    header: (&'static str, &'static str),
    says: &'static str,
}

/// H05: a hook that gives no verdict denies, says which hook and what failed, and is no
/// decision; the next call works.
#[tokio::test]
async fn no_verdict_is_a_failure_in_every_language() -> Result<()> {
    let (server, files) = (Recorder::start().await?, Files::new()?);
    let product = Product::find()?;
    let js = files.write(
        "rubbish.js",
        r#"const RUBBISH = {
             number: () => 1, string: () => "true", empty: () => ({}), array: () => [], allow: () => ({ allow: "yes" }),
             reason: () => ({ allow: true, reason: 1 }), key: () => ({ deny: true }), output: () => ({ output: {} }),
             input: () => ({ input: [] }), missing: (i) => ({ input: { url: i.url } }), function: () => () => true,
             symbol: () => Symbol("x"), bigint: () => 1n, nan: () => NaN, promise: async () => ({ allow: 1 }),
             throws: () => { throw new Error("broken"); }, rejects: async () => { throw new TypeError("broken"); },
             never: () => new Promise(() => {}), spins: () => { for (;;); }, deep: () => deep(), regex: () => /^(a+)+$/.test("a".repeat(40) + "b"),
             bomb: () => { const all = []; for (;;) all.push(new Array(1e6).fill(0)); },
             pinned: (i) => ({ input: { ...i, operation: "exec" } }), unknown: (i) => ({ input: { ...i, marker: 1 } }),
             derived: (i) => ({ input: { ...i, url_parsed: { ...i.url_parsed, host: "ok.test" } } }),
           };
           function deep() { return deep() + 1; }
           function pre(input) { return RUBBISH[input.headers["x-how"]]?.(input); }"#,
    )?;
    let rego = files.write(
        "rubbish.rego",
        "package mcp.fetch
         how := input.headers[\"x-how\"]
         pre := 1 if how == \"number\"
         pre := \"true\" if how == \"string\"
         pre := {} if how == \"empty\"
         pre := {\"allow\": \"yes\"} if how == \"allow\"
         pre := {\"allow\": false, \"reason\": \"bad\"} if { how == \"builtin\"; to_number(input.headers[\"x-how\"]) > 5 }
         pre := {\"allow\": false} if how == \"conflict\"
         pre := {\"allow\": true} if how == \"conflict\"
         pre := {\"input\": object.union(input, {\"operation\": \"exec\"})} if how == \"pinned\"
         pre := {\"allow\": count({1 | some _ in numbers.range(1, 30000); some _ in numbers.range(1, 30000)}) == 1} if how == \"spins\"",
    )?;
    let source = |url: &str, timeout_ms: u64| json!({"url": url, "timeout_ms": timeout_ms});
    let (vectors, hostile) = (product.component("vectors")?, product.component("hostile")?);
    let mut failures = Vec::new();
    let mut add = |source: Value, name: &'static str, value: &'static str, says: &'static str| {
        failures.push(Failure {
            source,
            header: (name, value),
            says,
        });
    };
    for (how, says) in [
        ("number", "number"),
        ("string", "string"),
        ("empty", "empty"),
        ("array", "array"),
        ("allow", "allow"),
        ("reason", "reason"),
        ("key", "deny"),
        ("output", "output"),
        ("input", "input"),
        ("missing", "method"),
        ("function", ""),
        ("symbol", ""),
        ("bigint", ""),
        ("nan", ""),
        ("promise", "allow"),
        ("throws", "broken"),
        ("rejects", "broken"),
        ("never", ""),
        ("deep", ""),
        ("bomb", ""),
        ("pinned", "operation"),
        ("unknown", "marker"),
        ("derived", "url_parsed"),
    ] {
        add(source(&js, 10_000), "x-how", how, says);
    }
    for how in ["spins", "regex"] {
        add(source(&js, 300), "x-how", how, "300 ms");
    }
    for (how, says) in [
        ("number", "number"),
        ("string", "string"),
        ("empty", "empty"),
        ("allow", "allow"),
        ("builtin", "number"),
        ("conflict", "pre"),
        ("pinned", "operation"),
    ] {
        add(source(&rego, 10_000), "x-how", how, says);
    }
    add(source(&rego, 500), "x-how", "spins", "");
    add(source(&vectors, 10_000), "x-case", "trap", "trap");
    add(source(&vectors, 10_000), "x-case", "fail=broken", "broken");
    add(source(&vectors, 300), "x-case", "spin", "300 ms");
    for how in ["grow", "recurse", "huge"] {
        add(source(&hostile, 10_000), "x-hostile", how, "");
    }

    let url = json!(server.url("/ok"));
    let mut sources: Vec<&Value> = Vec::new();
    for failure in &failures {
        if !sources.contains(&&failure.source) {
            sources.push(&failure.source);
        }
    }
    let mut good = 0;
    for source in sources {
        let name = source["url"]
            .as_str()
            .and_then(|url| url.rsplit('/').next())
            .unwrap_or_default();
        let session = serve(json!({ "pre": [source] })).await?;
        for Failure {
            header: (header, how),
            says,
            ..
        } in failures.iter().filter(|failure| failure.source == *source)
        {
            let run = session
                .run(&format!("await fetch({url}, {{ headers: {{ '{header}': '{how}' }} }})"))
                .await?;
            let error = run.error()?;
            let stopped = format!("HookFailed: fetch stopped, pre hook {name} failed (");
            assert!(
                error.starts_with(&stopped) && error.contains(says),
                "{how} in {name} gives {error}"
            );
            assert!(
                !error.contains("denied"),
                "{how} in {name} reads like a decision: {error}"
            );
            assert_eq!(server.hits().len(), good, "{how} in {name} let the request through");

            let run = session.run(&format!("(await fetch({url})).status")).await?;
            good += 1;
            assert_eq!(*run.value()?, json!(200), "after {how} in {name}");
        }
        session.close().await?;
    }
    assert_eq!(server.hits().len(), good);
    Ok(())
}

/// Policies fail closed in the same way, and say so in the same words.
#[tokio::test]
async fn a_failing_policy_lets_nothing_through() -> Result<()> {
    let (server, files) = (Recorder::start().await?, Files::new()?);
    let policy = files.write(
        "policy.rego",
        "package mcp.fetch\nallow if to_number(object.get(input.headers, \"x-n\", \"1\")) == 1",
    )?;
    let session = serve(json!({"policies": [{"url": policy}]})).await?;
    let url = json!(server.url("/ok"));
    let error = session
        .run(&format!("await fetch({url}, {{ headers: {{ 'x-n': 'abc' }} }})"))
        .await?
        .error()?;
    assert!(
        error.starts_with("HookFailed: fetch stopped, policy failed (policy.rego"),
        "{error}"
    );
    let error = session
        .run(&format!("await fetch({url}, {{ headers: {{ 'x-n': '2' }} }})"))
        .await?
        .error()?;
    assert_eq!(error, format!("Denied: fetch denied by policy: {}", server.url("/ok")));
    assert_eq!(
        *session.run(&format!("(await fetch({url})).status")).await?.value()?,
        json!(200)
    );
    assert_eq!(server.hits().len(), 1);
    session.close().await
}

/// A denial after the effect hides the answer; the effect stands, and happened once.
#[tokio::test]
async fn a_post_hook_undoes_nothing() -> Result<()> {
    let (server, files) = (Recorder::start().await?, Files::new()?);
    let hook = files.write(
        "post.js",
        "function post(input, output) { return { allow: false, reason: `was ${output.status}` }; }",
    )?;
    let session = serve(json!({"post": [{"url": hook}]})).await?;
    let code = format!(
        "await fetch({}, {{ method: 'POST', body: 'x' }})",
        json!(server.url("/status/418"))
    );
    let error = session.run(&code).await?.error()?;
    assert_eq!(
        error,
        format!(
            "Denied: fetch denied by post hook (was 418): {}",
            server.url("/status/418")
        )
    );
    assert_eq!(server.hits().len(), 1);
    session.close().await
}

/// A component gets a new instance for each call: its own count never passes 1.
#[tokio::test]
async fn a_component_keeps_nothing_from_call_to_call() -> Result<()> {
    let (server, files) = (Recorder::start().await?, Files::new()?);
    let trace = files.path("trace.jsonl");
    let product = Product::find()?;
    let mut command = product.configured(
        "serve",
        &json!({"fetch": {"pre": [{"url": product.component("count")?}]}}),
    );
    command.arg("--trace").arg(&trace);
    let session = seam_e2e::Session::start(command).await?;
    let code = format!(
        "for (let at = 0; at < 20; at++) await fetch({});",
        json!(server.url("/ok"))
    );
    session.run(&code).await?.value()?;
    session.close().await?;
    let operations = seam_e2e::trace::read(&trace)?;
    let reasons: Vec<_> = operations
        .iter()
        .filter_map(|operation| operation.step("count.wasm")?.reason.as_deref())
        .collect();
    assert_eq!(reasons, ["calls=1"; 20]);
    Ok(())
}
