//! A session of the official Rust MCP client with `seam serve` over stdio.

use std::{
    process::Command,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use rmcp::{
    ClientHandler, RoleClient, ServiceExt,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ProgressNotificationParam,
        ProgressToken, ServerResult, Tool,
    },
    service::{NotificationContext, PeerRequestOptions, RequestHandle, RunningService},
    transport::TokioChildProcess,
};
use serde_json::{Value, json};
use tokio::sync::watch;

/// How long a call may take before a test gives it up as hanging. Far above every limit
/// of the product that a test relies on.
const PATIENCE: Duration = Duration::from_secs(120);

/// A connected client. Dropping it closes the server's standard input.
pub struct Session {
    service: RunningService<RoleClient, Listener>,
    heard: Arc<Heard>,
}

/// The progress messages of a session, by token, in order of arrival.
#[derive(Default)]
struct Heard {
    messages: Mutex<Vec<(ProgressToken, String)>>,
    count: watch::Sender<usize>,
}

struct Listener(Arc<Heard>);

impl ClientHandler for Listener {
    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let message = params.message.unwrap_or_default();
        let mut messages = self.0.messages.lock().unwrap_or_else(PoisonError::into_inner);
        messages.push((params.progress_token, message));
        self.0.count.send_replace(messages.len());
    }
}

impl Session {
    /// Starts the server and shakes hands with it.
    pub async fn start(command: Command) -> Result<Self> {
        let heard = Arc::new(Heard::default());
        let mut command = tokio::process::Command::from(command);
        command.kill_on_drop(true);
        let child = TokioChildProcess::new(command).context("seam cannot be started")?;
        let service = Listener(heard.clone()).serve(child);
        let service = tokio::time::timeout(PATIENCE, service)
            .await
            .context("seam did not shake hands")??;
        Ok(Self { service, heard })
    }

    /// The tools there are.
    pub async fn tools(&self) -> Result<Vec<Tool>> {
        Ok(self.service.list_all_tools().await?)
    }

    /// Runs a script to its end.
    pub async fn run(&self, code: &str) -> Result<Run> {
        self.run_with(json!({ "code": code })).await
    }

    /// Runs `run_js` with these arguments to its end.
    pub async fn run_with(&self, arguments: Value) -> Result<Run> {
        self.begin(arguments).await?.end().await
    }

    /// Begins `run_js` with these arguments.
    pub async fn begin(&self, arguments: Value) -> Result<Running> {
        let Value::Object(arguments) = arguments else {
            bail!("arguments are an object");
        };
        let call = CallToolRequestParams::new("run_js").with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(call));
        let handle = self
            .service
            .send_cancellable_request(request, PeerRequestOptions::no_options())
            .await?;
        Ok(Running {
            handle,
            heard: self.heard.clone(),
        })
    }

    /// Whether the server answers a ping.
    pub async fn ping(&self) -> Result<()> {
        let ping = ClientRequest::PingRequest(rmcp::model::PingRequest::default());
        tokio::time::timeout(PATIENCE, self.service.send_request(ping))
            .await
            .context("no answer to a ping")??;
        Ok(())
    }

    /// Closes the session and waits until the server's process is gone.
    pub async fn close(self) -> Result<()> {
        tokio::time::timeout(PATIENCE, self.service.cancel())
            .await
            .context("seam did not end")??;
        Ok(())
    }
}

/// A call under way.
pub struct Running {
    handle: RequestHandle<RoleClient>,
    heard: Arc<Heard>,
}

impl Running {
    /// Waits until the script has written a line that contains this text.
    pub async fn says(&self, text: &str) -> Result<()> {
        let mut count = self.heard.count.subscribe();
        let said = tokio::time::timeout(PATIENCE, async {
            while !self.messages().iter().any(|message| message.contains(text)) {
                count.changed().await.context("the session has ended")?;
            }
            Ok(())
        });
        said.await.with_context(|| format!("the script never said {text:?}"))?
    }

    /// The progress messages of this call so far.
    pub fn messages(&self) -> Vec<String> {
        let messages = self.heard.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = messages
            .iter()
            .filter(|(token, _)| *token == self.handle.progress_token);
        mine.map(|(_, message)| message.clone()).collect()
    }

    /// Sends `notifications/cancelled` for this call.
    pub async fn cancel(self) -> Result<()> {
        Ok(self.handle.cancel(Some("the test wants it to end".into())).await?)
    }

    /// Waits for the end.
    pub async fn end(self) -> Result<Run> {
        let answer = tokio::time::timeout(PATIENCE, self.handle.await_response());
        match answer.await.context("run_js did not end")?? {
            ServerResult::CallToolResult(result) => Run::read(result),
            other => bail!("an answer of another kind: {other:?}"),
        }
    }
}

/// What a script came to.
#[derive(Clone, Debug)]
pub struct Run {
    /// Whether the tool reported an error.
    pub is_error: bool,
    /// The structured content.
    pub content: Value,
    /// The text content.
    pub text: String,
}

impl Run {
    fn read(result: CallToolResult) -> Result<Self> {
        let texts = result.content.iter().filter_map(|block| block.as_text());
        Ok(Self {
            is_error: result.is_error.unwrap_or(false),
            text: texts.map(|text| text.text.as_str()).collect::<Vec<_>>().join("\n"),
            content: result.structured_content.context("no structured content")?,
        })
    }

    /// How it ended, such as `completed`.
    pub fn status(&self) -> &str {
        self.content["status"].as_str().unwrap_or_default()
    }

    /// The value of a script that completed.
    pub fn value(&self) -> Result<&Value> {
        ensure!(!self.is_error, "the script did not complete: {}", self.content);
        Ok(&self.content["result"])
    }

    /// The error that ended the script, as `Name: message`.
    pub fn error(&self) -> Result<String> {
        ensure!(self.is_error, "the script completed: {}", self.content);
        let error = &self.content["error"];
        let part = |key: &str| {
            error[key]
                .as_str()
                .with_context(|| format!("no {key} in {}", self.content))
        };
        Ok(format!("{}: {}", part("name")?, part("message")?))
    }
}
