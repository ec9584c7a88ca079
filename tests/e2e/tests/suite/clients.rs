//! Official clients of other makers, and the demo, as processes of their own.

use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use seam_e2e::{Files, Product, Recorder};
use serde_json::{Value, json};

/// A policy that closes one path, with a reason.
const POLICY: &str = "package mcp.fetch
closed if startswith(input.url_parsed.path, \"/status\")
allow if not closed
allow := {\"allow\": false, \"reason\": \"no status pages\"} if closed";

/// Waits for a client without holding up the recording server.
async fn finish(mut command: Command) -> Result<Output> {
    let output = tokio::task::spawn_blocking(move || command.output())
        .await?
        .context("the client cannot be started")?;
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(
        output.status.success(),
        "the client failed: {}\n{error}",
        String::from_utf8_lossy(&output.stdout)
    );
    Ok(output)
}

/// The last line of what a client printed, as JSON.
fn last_json(output: &Output) -> Result<Value> {
    let text = String::from_utf8(output.stdout.clone())?;
    let line = text.lines().last().context("the client printed nothing")?;
    serde_json::from_str(line).with_context(|| format!("not JSON: {line}"))
}

async fn python(mode: &str) -> Result<()> {
    let (product, server, files) = (Product::find()?, Recorder::start().await?, Files::new()?);
    let policies = json!({"fetch": {"policies": [{"url": files.write("policy.rego", POLICY)?}]}});
    let seam = product.configured("serve", &policies);
    let mut client = Command::new(product.clients()?.join("python/bin/python"));
    client.arg(product.repository().join("tests/clients/python/scenario.py"));
    client.args([mode, &server.url("/ok"), &server.url("/status/200"), "--"]);
    client.arg(seam.get_program()).args(seam.get_args());
    let seen = last_json(&finish(client).await?)?;

    assert_eq!(seen["tools"], json!(["run_js"]), "{seen}");
    assert_eq!(seen["arguments"], json!(["code", "heap_memory_max_mb", "timeout_secs"]));
    assert_eq!(seen["sum"]["structured"]["result"], json!(2), "{seen}");
    assert_eq!(seen["fetched"]["structured"]["result"], json!(200), "{seen}");
    let denied = format!(
        "fetch denied by policy (no status pages): {}",
        server.url("/status/200")
    );
    assert_eq!(seen["denied"]["is_error"], json!(true), "{seen}");
    assert_eq!(seen["denied"]["structured"]["error"]["message"], json!(denied));
    assert!(
        seen["denied"]["text"]
            .as_str()
            .is_some_and(|text| text.contains(&denied)),
        "{seen}"
    );
    let told = seen["progress"]
        .as_array()
        .is_some_and(|told| told.iter().any(|line| line.to_string().contains("halfway")));
    assert!(told, "no progress: {seen}");
    assert_eq!(seen["cancelled"], json!(true), "{seen}");
    assert_eq!(
        seen["afterwards"]["structured"]["result"],
        json!("still here"),
        "{seen}"
    );
    assert_eq!(server.targets(), ["/ok"]);
    Ok(())
}

/// The official Python SDK, as it speaks to every server of today.
#[tokio::test]
async fn the_python_sdk_by_handshake() -> Result<()> {
    python("legacy").await
}

/// The same with the newest protocol, which has no handshake.
#[tokio::test]
async fn the_python_sdk_by_discovery() -> Result<()> {
    python("auto").await
}

/// `@modelcontextprotocol/inspector --cli`: one request a process.
#[tokio::test]
async fn the_inspector() -> Result<()> {
    let (product, server, files) = (Product::find()?, Recorder::start().await?, Files::new()?);
    let policies = json!({"fetch": {"policies": [{"url": files.write("policy.rego", POLICY)?}]}});
    let seam = product.configured("serve", &policies);
    let arguments: Vec<_> = seam
        .get_args()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let servers = json!({"mcpServers": {"seam": {"command": seam.get_program().to_string_lossy(), "args": arguments}}});
    files.write("inspector.json", &servers.to_string())?;
    let inspect = async |arguments: &[&str]| -> Result<Value> {
        let mut client = Command::new("node");
        client.arg(product.clients()?.join("inspector/node_modules/.bin/mcp-inspector"));
        client
            .arg("--cli")
            .arg("--config")
            .arg(files.path("inspector.json"))
            .args(["--server", "seam"])
            .args(arguments);
        let output = finish(client).await?;
        serde_json::from_slice(&output.stdout).context("the inspector did not print JSON")
    };
    let call = async |code: &str, more: &[&str]| -> Result<Value> {
        let code = format!("code={code}");
        let mut arguments = vec!["--method", "tools/call", "--tool-name", "run_js", "--tool-arg", &code];
        arguments.extend(more);
        inspect(&arguments).await
    };

    let tools = inspect(&["--method", "tools/list"]).await?;
    assert_eq!(tools["tools"][0]["name"], json!("run_js"), "{tools}");

    let sum = call("1 + 1", &["--tool-arg", "timeout_secs=20"]).await?;
    assert_eq!(sum["structuredContent"]["result"], json!(2), "{sum}");

    let fetched = call(&format!("(await fetch({})).status", json!(server.url("/ok"))), &[]).await?;
    assert_eq!(fetched["structuredContent"]["result"], json!(200), "{fetched}");

    let denied = call(&format!("await fetch({})", json!(server.url("/status/200"))), &[]).await?;
    let message = format!(
        "fetch denied by policy (no status pages): {}",
        server.url("/status/200")
    );
    assert_eq!(denied["isError"], json!(true), "{denied}");
    assert_eq!(denied["structuredContent"]["error"]["message"], json!(message));
    assert_eq!(server.targets(), ["/ok"]);
    Ok(())
}

/// The demo ends well, and shows what it promises.
#[tokio::test]
async fn the_demo() -> Result<()> {
    let output = finish(Command::new(env!("CARGO_BIN_EXE_demo"))).await?;
    let text = String::from_utf8(output.stdout)?;
    for part in [
        "1 × /news\n",
        "1 × /v2/items?page=2\n",
        "0 × /v1/items?page=2\n",
        "0 × /news?token=KEY\n",
        "0 × /admin/users\n",
        "fetch denied by layer (credentials in query string)",
        "fetch denied by policy (the admin pages are closed)",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    Ok(())
}
