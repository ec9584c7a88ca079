//! A session by hand: the lines of the protocol as they are, for tests of the stream.

use std::{
    process::{Command, Output, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout},
};

/// How long a line may take before a test gives it up as hanging.
const PATIENCE: Duration = Duration::from_secs(120);

/// The protocol version that the handshake asks for.
const PROTOCOL: &str = "2025-06-18";

/// A server process and its standard streams.
pub struct Wire {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Every line that came so far.
    lines: Vec<String>,
}

impl Wire {
    /// Starts the server and shakes hands.
    pub async fn start(command: Command) -> Result<Self> {
        let mut command = tokio::process::Command::from(command);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().context("seam cannot be started")?;
        let input = child.stdin.take().context("standard input is piped")?;
        let output = BufReader::new(child.stdout.take().context("standard output is piped")?);
        let mut wire = Self {
            child,
            input,
            output,
            lines: Vec::new(),
        };
        let client = json!({"name": "wire", "version": "0"});
        let hello = json!({"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client});
        wire.request(0, "initialize", hello).await?;
        wire.answer(0).await?;
        wire.notify("notifications/initialized", json!({})).await?;
        Ok(wire)
    }

    /// Sends a request.
    pub async fn request(&mut self, id: u64, method: &str, params: Value) -> Result<()> {
        self.line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string())
            .await
    }

    /// Sends a call of `run_js` that asks for progress.
    pub async fn run_js(&mut self, id: u64, code: &str) -> Result<()> {
        let params = json!({
            "name": "run_js",
            "arguments": {"code": code},
            "_meta": {"progressToken": id},
        });
        self.request(id, "tools/call", params).await
    }

    /// Sends a notification.
    pub async fn notify(&mut self, method: &str, params: Value) -> Result<()> {
        self.line(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string())
            .await
    }

    /// Sends `notifications/cancelled` for a request.
    pub async fn cancel(&mut self, id: u64) -> Result<()> {
        self.notify("notifications/cancelled", json!({"requestId": id, "reason": "test"}))
            .await
    }

    /// Sends a line as it is.
    pub async fn line(&mut self, line: &str) -> Result<()> {
        self.input.write_all(format!("{line}\n").as_bytes()).await?;
        Ok(self.input.flush().await?)
    }

    /// Reads on until the answer to a request.
    pub async fn answer(&mut self, id: u64) -> Result<Value> {
        self.until(&format!("the answer to request {id}"), |message| {
            message["id"] == json!(id) && message.get("method").is_none()
        })
        .await
    }

    /// Reads on until a progress message of a request contains this text.
    pub async fn progress(&mut self, id: u64, text: &str) -> Result<Value> {
        self.until(&format!("progress of request {id} with {text:?}"), |message| {
            let params = &message["params"];
            message["method"] == "notifications/progress"
                && params["progressToken"] == json!(id)
                && params["message"].as_str().is_some_and(|message| message.contains(text))
        })
        .await
    }

    /// Reads on until a message is like that. Every line must be a message.
    pub async fn until(&mut self, what: &str, like: impl Fn(&Value) -> bool) -> Result<Value> {
        let found = tokio::time::timeout(PATIENCE, async {
            loop {
                let mut line = String::new();
                ensure!(self.output.read_line(&mut line).await? > 0, "standard output ended");
                let message = message(&line)?;
                self.lines.push(line);
                if like(&message) {
                    return Ok(message);
                }
            }
        });
        found
            .await
            .with_context(|| format!("{what} never came"))?
            .with_context(|| what.to_owned())
    }

    /// Closes standard input, waits for the end, and gives the messages of the whole
    /// session beside the process's end.
    pub async fn end(mut self) -> Result<(Vec<Value>, Output)> {
        drop(self.input);
        let mut rest = String::new();
        tokio::time::timeout(PATIENCE, self.output.read_to_string(&mut rest))
            .await
            .context("seam did not end")??;
        self.lines.extend(rest.lines().map(str::to_owned));
        let output = tokio::time::timeout(PATIENCE, self.child.wait_with_output())
            .await
            .context("seam did not end")??;
        let messages = self.lines.iter().map(|line| message(line)).collect::<Result<_>>()?;
        Ok((messages, output))
    }
}

/// One line as a message of the protocol.
fn message(line: &str) -> Result<Value> {
    let shown: String = line.chars().take(200).collect();
    let message: Value = serde_json::from_str(line).with_context(|| format!("not JSON on standard output: {shown}"))?;
    ensure!(message["jsonrpc"] == "2.0", "not JSON-RPC on standard output: {shown}");
    Ok(message)
}
