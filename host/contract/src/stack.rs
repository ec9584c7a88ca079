//! The stack: the layers of one operation in order, and the executor inside.
//!
//! Order is stated once: the first layer is the outermost. An operation goes down from
//! the first to the last and then to the executor; the output comes back the other way.
//!
//! **Architecture invariant.** [`Stack::run`] is the only way to an [`Executor`]. Every
//! descent, the retries of a layer included, passes everything below that layer again.

use std::{
    fmt,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::{FutureExt, future::BoxFuture};

use crate::{
    call::{Call, Caller, Cx},
    error::{Error, ErrorKind, Refusal, Role},
    hook::{PostHook, PostLayer, PreHook, PreLayer},
    layer::{Layer, Next},
    operation::{Operation, OperationKind, Output},
    record::{Outcome, Record},
};

/// How deep a stack may be. Each layer holds an instance or a worker while the rest runs.
pub const MAX_LAYERS: usize = 32;

/// The innermost place: performs the effect.
pub trait Executor: Send + Sync {
    /// What it is called in messages and records. The real ones are `@execute`.
    fn name(&self) -> &str {
        "@execute"
    }

    /// How long one call may take, `None` where the executor keeps time itself.
    fn limit(&self) -> Option<Duration> {
        None
    }

    /// Performs one operation. Dropping the future gives it up.
    fn execute<'a>(&'a self, cx: &'a Cx, operation: Operation) -> BoxFuture<'a, Result<Output, Refusal>>;
}

/// The layers of one kind of operation, outermost first, and its executor.
pub struct Stack {
    kind: OperationKind,
    layers: Vec<(Arc<str>, Arc<dyn Layer>)>,
    executor: (Arc<str>, Arc<dyn Executor>),
}

impl Stack {
    /// A stack of these layers, outermost first.
    ///
    /// Errors (kind `config`): more than [`MAX_LAYERS`] layers.
    pub fn new(
        kind: OperationKind,
        layers: Vec<Arc<dyn Layer>>,
        executor: Arc<dyn Executor>,
    ) -> Result<Arc<Self>, Error> {
        if layers.len() > MAX_LAYERS {
            let message = format!(
                "{} layers around {kind}, more than the limit of {MAX_LAYERS}",
                layers.len()
            );
            return Err(Error::new(ErrorKind::Config, message));
        }
        let layers = layers.into_iter().map(|layer| (layer.name().into(), layer)).collect();
        Ok(Arc::new(Self {
            kind,
            layers,
            executor: (executor.name().into(), executor),
        }))
    }

    /// The flat chain as a stack: `[pre0 … preN, postN … post0, inner…]`. Pre hooks judge
    /// in order, post hooks in order too, `post0` first because it is the innermost; both
    /// stand above `inner` (injection, then policy), so no hook sees a credential.
    pub fn chain(
        pre: Vec<Arc<dyn PreHook>>,
        post: Vec<Arc<dyn PostHook>>,
        inner: Vec<Arc<dyn Layer>>,
    ) -> Vec<Arc<dyn Layer>> {
        let pre = pre
            .into_iter()
            .map(|hook| Arc::new(PreLayer::new(hook)) as Arc<dyn Layer>);
        let post = post
            .into_iter()
            .rev()
            .map(|hook| Arc::new(PostLayer::new(hook)) as Arc<dyn Layer>);
        pre.chain(post).chain(inner).collect()
    }

    /// The kind of operation this stack is for.
    pub fn kind(&self) -> OperationKind {
        self.kind
    }

    /// The places from the outermost to the executor, as role and name.
    pub fn places(&self) -> impl Iterator<Item = (Role, &str)> {
        let layers = self.layers.iter().map(|(name, layer)| (layer.role(), &**name));
        layers.chain([(Role::Executor, &*self.executor.0)])
    }

    /// Runs one operation through every layer to the executor and back, and reports it to
    /// the caller's recorder. Dropping the future gives the operation up.
    pub async fn run(self: &Arc<Self>, caller: Arc<Caller>, operation: Operation) -> Result<Output, Refusal> {
        if operation.kind() != self.kind {
            return Err(Error::new(ErrorKind::Invalid, format!("no stack for {}", operation.kind())).into());
        }
        let call = Arc::new(Call::new(caller, &operation));
        let mut report = Report {
            call: call.clone(),
            begun: Instant::now(),
            outcome: Outcome::Cancelled,
        };
        let end = Next::outermost(self.clone(), call).run(operation).await;
        report.outcome = match &end {
            Ok(_) => Outcome::Answered,
            Err(Refusal::Denied(_)) => Outcome::Denied,
            Err(Refusal::Failed(_)) => Outcome::Failed,
        };
        end
    }

    /// One step down: the layer at `position`, or the executor below the last.
    pub(crate) async fn descend(
        self: Arc<Self>,
        call: Arc<Call>,
        position: usize,
        operation: Operation,
    ) -> Result<Output, Refusal> {
        let Some((name, layer)) = self.layers.get(position) else {
            let (name, executor) = &self.executor;
            let cx = Cx::enter(call, Role::Executor, name, position);
            let end = settled(&cx, executor.limit(), executor.execute(&cx, operation)).await;
            cx.leave(&end, None);
            return end;
        };
        let cx = Cx::enter(call, layer.role(), name, position);
        let (next, lease) = Next::below(self.clone(), position, &cx, &operation);
        let end = settled(&cx, layer.limit(), layer.handle(&cx, operation, next)).await;
        cx.leave(&end, lease.last_output());
        end
    }
}

/// Waits for a layer or an executor, but never longer than its limit, and holds it to the
/// form of an answer. A panic is a failure of that place, not of the process.
async fn settled(
    cx: &Cx,
    limit: Option<Duration>,
    work: BoxFuture<'_, Result<Output, Refusal>>,
) -> Result<Output, Refusal> {
    let end = within(limit, AssertUnwindSafe(work).catch_unwind()).await;
    match end {
        Ok(Ok(Ok(output))) if output.kind() != cx.call().kind() => Err(cx.fail(Error::hook(format!(
            "answered {} with an output of {}",
            cx.call().kind(),
            output.kind()
        )))),
        Ok(Ok(Ok(output))) => Ok(output),
        Ok(Ok(Err(Refusal::Failed(error)))) => Err(error.at(cx.role(), cx.name()).into()),
        Ok(Ok(Err(denied))) => Err(denied),
        Ok(Err(_panic)) => Err(cx.fail(Error::hook("panicked; this is a defect of the host, please report it"))),
        Err(late) => Err(cx.fail(late)),
    }
}

/// Waits for `work`, at most `limit`. Error: [`timed_out`].
pub async fn within<T>(limit: Option<Duration>, work: impl Future<Output = T>) -> Result<T, Error> {
    match limit {
        None => Ok(work.await),
        Some(limit) => tokio::time::timeout(limit, work).await.map_err(|_| timed_out(limit)),
    }
}

/// The failure of a hook that did not answer in time.
pub fn timed_out(limit: Duration) -> Error {
    Error::hook(format!("timed out after {} ms", limit.as_millis()))
}

/// Reports a call when it ends, also when it is dropped in the middle.
struct Report {
    call: Arc<Call>,
    begun: Instant,
    outcome: Outcome,
}

impl Drop for Report {
    fn drop(&mut self) {
        let Some(recorder) = &self.call.caller().recorder else {
            return;
        };
        let steps = self.call.with_steps(crate::record::Steps::finish).unwrap_or_default();
        recorder.record(Record {
            execution: self.call.caller().execution.clone(),
            id: self.call.id(),
            operation: self.call.kind(),
            target: self.call.target().to_owned(),
            steps,
            outcome: self.outcome,
            duration: self.begun.elapsed(),
        });
    }
}

impl fmt::Debug for Stack {
    /// The list of places, outermost first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.places().map(|(_, name)| name)).finish()
    }
}
