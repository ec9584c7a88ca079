//! The shipped binary over stdio, spoken to in plain JSON-RPC lines, so that no client
//! library is in the number.

use std::{path::Path, process::Stdio};

use anyhow::Context as _;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

/// A running `seam serve`.
pub struct Server {
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    last_id: u64,
    _child: Child,
}

impl Server {
    /// Starts it without configuration and shakes hands.
    pub async fn start(binary: &Path) -> anyhow::Result<Self> {
        let mut child = Command::new(binary)
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{} does not start", binary.display()))?;
        let stdin = child.stdin.take().context("no stdin")?;
        let lines = BufReader::new(child.stdout.take().context("no stdout")?).lines();
        let mut server = Self {
            stdin,
            lines,
            last_id: 0,
            _child: child,
        };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}});
        server.ask("initialize", hello).await?;
        server
            .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await?;
        Ok(server)
    }

    /// Calls `run_js` and checks the result.
    pub async fn run_js(&mut self, code: &str, expected: &Value) -> anyhow::Result<()> {
        let answer = self
            .ask("tools/call", json!({"name": "run_js", "arguments": {"code": code}}))
            .await?;
        let result = &answer["structuredContent"]["result"];
        anyhow::ensure!(result == expected, "run_js({code:?}) answered {answer}");
        Ok(())
    }

    async fn ask(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await?;
        loop {
            let line = self.lines.next_line().await?.context("the server closed its output")?;
            let message: Value = serde_json::from_str(&line)?;
            if message["id"] == id {
                return message
                    .get("result")
                    .cloned()
                    .with_context(|| format!("{method} failed: {message}"));
            }
        }
    }

    async fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        self.stdin.write_all(format!("{message}\n").as_bytes()).await?;
        Ok(self.stdin.flush().await?)
    }
}
