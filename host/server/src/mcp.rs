//! The MCP surface: one tool, `run_js`.
//!
//! What goes wrong inside a script, its arguments included, is a tool result that the
//! model can read, never a protocol error. Cancelling a request stops its execution: the
//! isolate, its hooks and what is in flight.

mod answer;
mod arguments;
mod progress;
mod session;
mod tool;

use std::{process::ExitCode, sync::Arc};

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult, PaginatedRequestParams,
        ServerCapabilities, ServerConfig, Tool,
    },
    service::{QuitReason, RequestContext, ServerInitializeError},
};
use tokio_util::sync::CancellationToken;

use self::{answer::Answer, arguments::Arguments, progress::Progress};
use crate::{
    execution::{Executions, Job},
    log,
    stdio::Stdio,
};

/// The name of the server and of its program.
const NAME: &str = "seam";

/// Serves MCP over these streams until the input ends or `stop` is cancelled. Every
/// execution has ended when this returns.
pub async fn serve(stdio: Stdio, executions: Arc<Executions>, stop: CancellationToken) -> ExitCode {
    let server = Server {
        tool: tool::describe(&executions),
        executions: executions.clone(),
    };
    let input_ended = executions.stopping().clone();
    let transport = session::transport(stdio, input_ended);
    let end = match server.serve_with_ct(transport, stop.child_token()).await {
        Ok(running) => running.waiting().await.map_err(|error| error.to_string()),
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(QuitReason::Closed),
        Err(error) => Err(error.to_string()),
    };
    executions.stop().await;
    match end {
        Ok(QuitReason::Closed | QuitReason::Cancelled) => ExitCode::SUCCESS,
        Ok(reason) => failed(&format!("{reason:?}")),
        Err(error) => failed(&error),
    }
}

fn failed(why: &str) -> ExitCode {
    log::line(format_args!("the protocol broke: {why}"));
    ExitCode::FAILURE
}

/// Answers requests.
struct Server {
    tool: Tool,
    executions: Arc<Executions>,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let info = Implementation::new(NAME, env!("CARGO_PKG_VERSION"))
            .with_title("Seam")
            .with_description(
                "Runs JavaScript and TypeScript in isolates whose every effect passes hooks and policies",
            );
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build()).with_server_info(info)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![self.tool.clone()]))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        (name == self.tool.name).then(|| self.tool.clone())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != self.tool.name {
            let message = format!("unknown tool {:?}; there is {}", request.name, self.tool.name);
            return Err(ErrorData::invalid_params(message, None));
        }
        let answer = match Arguments::read(request.arguments.unwrap_or_default()) {
            Ok(arguments) => self.run(arguments, cx).await,
            Err(mistake) => Answer::refused(mistake.0),
        };
        Ok(answer.into_result().into())
    }
}

impl Server {
    async fn run(&self, arguments: Arguments, cx: RequestContext<RoleServer>) -> Answer {
        let (progress, console) = Progress::start(&cx);
        let limits = arguments.limits();
        let job = Job {
            script: arguments.into_script(),
            limits,
            console,
            cancelled: cx.ct.clone(),
        };
        let ended = self.executions.run(job).await;
        // Progress goes out before the answer, or not at all.
        progress.finish(&cx.ct).await;
        match ended {
            Ok(ended) => Answer::of(ended, limits.output_bytes),
            Err(busy) => Answer::refused(busy.to_string()),
        }
    }
}
