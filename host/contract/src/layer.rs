//! A layer and the rest of the stack below it.

use std::{
    future::Future,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use futures::future::BoxFuture;
use tokio::sync::Notify;

use crate::{
    call::{Call, Cx},
    error::{Error, ErrorKind, Refusal, Role},
    operation::{Operation, Output},
    stack::Stack,
};

/// One place in a stack: it gets an operation and the rest of the stack, and answers.
///
/// A layer is free to run the rest never, once or many times, with the operation it got
/// or another one of the same kind. It never performs an effect itself. Dropping the
/// future of `handle` must stop whatever the layer is doing.
pub trait Layer: Send + Sync {
    /// What it is called in messages and records, such as `fetch_hooks.js`.
    fn name(&self) -> &str;

    /// Its role in messages and records.
    fn role(&self) -> Role {
        Role::Layer
    }

    /// How long one call may take, time inside `next` included. The stack ends the call
    /// then, as a failure. `None`: the layer keeps time itself.
    fn limit(&self) -> Option<Duration>;

    /// Answers one operation.
    fn handle<'a>(&'a self, cx: &'a Cx, operation: Operation, next: Next) -> BoxFuture<'a, Result<Output, Refusal>>;
}

/// The rest of the stack, lent to a layer for one call of it.
///
/// Clones lead to the same place and end together: once the layer has settled, `run`
/// fails without effect and descents still in flight are dropped.
#[derive(Clone)]
pub struct Next {
    stack: Arc<Stack>,
    call: Arc<Call>,
    position: usize,
    above: Option<Above>,
    lease: Arc<Lease>,
}

/// The layer that holds a [`Next`], for its record and its errors.
#[derive(Clone)]
struct Above {
    cx: Cx,
    received: Operation,
}

impl Next {
    /// The way into a stack from above its outermost layer.
    pub(crate) fn outermost(stack: Arc<Stack>, call: Arc<Call>) -> Self {
        Self {
            stack,
            call,
            position: 0,
            above: None,
            lease: Arc::default(),
        }
    }

    /// The rest below the layer at `position`, and the guard that ends it.
    pub(crate) fn below(stack: Arc<Stack>, position: usize, cx: &Cx, received: &Operation) -> (Self, Settled) {
        let lease = Arc::new(Lease::default());
        let above = Some(Above {
            cx: cx.clone(),
            received: received.clone(),
        });
        let next = Self {
            stack,
            call: cx.call().clone(),
            position: position + 1,
            above,
            lease: lease.clone(),
        };
        (next, Settled(lease))
    }

    /// Runs the rest of the stack on this operation.
    ///
    /// Every descent is judged anew: the operation must be of the call's kind, and each
    /// layer below sees it, the policy included.
    pub fn run(&self, operation: Operation) -> impl Future<Output = Result<Output, Refusal>> + Send + use<> {
        let next = self.clone();
        async move {
            if next.lease.is_over() {
                return Err(next.late());
            }
            if operation.kind() != next.call.kind() {
                return Err(next.blame(Error::hook(format!(
                    "changed the pinned field operation from {} to {}",
                    next.call.kind(),
                    operation.kind()
                ))));
            }
            if let Some(Above { cx, received }) = &next.above {
                cx.with_step(|steps, step| steps.descended(step, &received.changed_fields(&operation)));
            }
            let begun = Instant::now();
            let descent = next.stack.clone().descend(next.call.clone(), next.position, operation);
            let end = tokio::select! {
                biased;
                () = next.lease.over() => Err(next.late()),
                end = descent => end,
            };
            if let Some(Above { cx, .. }) = &next.above {
                cx.with_step(|steps, step| {
                    steps.returned(step, begun.elapsed());
                    next.lease.keep(&end);
                });
            }
            end
        }
    }

    fn blame(&self, error: Error) -> Refusal {
        match &self.above {
            Some(above) => above.cx.fail(error),
            None => error.into(),
        }
    }

    fn late(&self) -> Refusal {
        Error::new(ErrorKind::Cancelled, "next was used after its layer had settled").into()
    }
}

/// Whether the layer that holds a [`Next`] is still at work.
#[derive(Default)]
struct Lease {
    over: AtomicBool,
    ended: Notify,
    last_output: Mutex<Option<Output>>,
}

impl Lease {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Keeps the latest output, for the record of what the layer changes in it.
    fn keep(&self, end: &Result<Output, Refusal>) {
        *self.last_output.lock().unwrap_or_else(PoisonError::into_inner) = end.as_ref().ok().cloned();
    }

    async fn over(&self) {
        let ended = self.ended.notified();
        tokio::pin!(ended);
        // Registered before the flag is read: an end in between is not missed.
        ended.as_mut().enable();
        if !self.is_over() {
            ended.await;
        }
    }
}

/// Ends the lease of a layer's [`Next`] when the layer has settled or is dropped.
pub(crate) struct Settled(Arc<Lease>);

impl Settled {
    /// The output that the rest of the stack gave last, where a record is kept.
    pub(crate) fn last_output(&self) -> Option<Output> {
        self.0.last_output.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Settled {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Release);
        self.0.ended.notify_waiters();
    }
}
