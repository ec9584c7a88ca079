//! The transport of MCP over standard streams, and what it must survive.

use rmcp::{
    RoleServer,
    model::{ClientJsonRpcMessage, ClientRequest, JsonRpcRequest},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{Transport, async_rw::AsyncRwTransport},
};
use tokio::fs::File;
use tokio_util::sync::CancellationToken;

use crate::{log, stdio::Stdio};

/// How long one line may be, in bytes; longer ones are dropped and logged. Scripts are
/// smaller, and a line is held in memory whole.
pub(super) const MAX_LINE: usize = 16 << 20;

/// A transport over these streams that cancels `input_ended` when the input ends.
pub(super) fn transport(stdio: Stdio, input_ended: CancellationToken) -> impl Transport<RoleServer> {
    let lines = AsyncRwTransport::new_server(File::from_std(stdio.input), File::from_std(stdio.output));
    Session {
        lines: lines.with_max_line_length(MAX_LINE),
        opened: false,
        input_ended,
    }
}

struct Session<T> {
    lines: T,
    /// Whether the client has said hello. rmcp gives up the connection on anything but a
    /// request before that.
    opened: bool,
    input_ended: CancellationToken,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Session<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.lines.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let Some(message) = self.lines.receive().await else {
                self.input_ended.cancel();
                return None;
            };
            match &message {
                ClientJsonRpcMessage::Request(request) => self.opened |= opens(request),
                _ if self.opened => {}
                _ => {
                    log::line("a message that is no request came before initialize, it is ignored");
                    continue;
                }
            }
            return Some(message);
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.lines.close().await
    }
}

/// Whether this request begins a session: `initialize`, or the first one of a protocol
/// that has no such request and names its version in each.
fn opens(message: &JsonRpcRequest<ClientRequest>) -> bool {
    use rmcp::model::GetMeta as _;
    match &message.request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        request => request.get_meta().protocol_version().is_some(),
    }
}
