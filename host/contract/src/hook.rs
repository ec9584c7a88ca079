//! Hooks that only judge, and how they stand in a stack.
//!
//! A [`PreHook`] judges what goes down, a [`PostHook`] what comes back. [`PreLayer`] and
//! [`PostLayer`] make layers of them, so the flat chain and the stack are one mechanism.

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;

use crate::{
    call::Cx,
    error::{Error, Refusal, Role},
    layer::{Layer, Next},
    operation::{Operation, Output},
    record::Decision,
    stack::within,
    verdict::Verdict,
};

/// Judges the input of an operation.
pub trait PreHook: Send + Sync {
    /// What it is called in messages and records.
    fn name(&self) -> &str;

    /// How long one judgement may take; `None` where the hook keeps time itself.
    fn limit(&self) -> Option<Duration>;

    /// Judges one input. An error is a failure of the hook: the operation ends.
    fn judge<'a>(&'a self, cx: &'a Cx, input: &'a Operation) -> BoxFuture<'a, Result<Verdict<Operation>, Error>>;
}

/// Judges the output of an operation that has taken effect already.
pub trait PostHook: Send + Sync {
    /// What it is called in messages and records.
    fn name(&self) -> &str;

    /// How long one judgement may take; `None` where the hook keeps time itself.
    fn limit(&self) -> Option<Duration>;

    /// Judges one output beside the input that led to it.
    fn judge<'a>(
        &'a self,
        cx: &'a Cx,
        input: &'a Operation,
        output: &'a Output,
    ) -> BoxFuture<'a, Result<Verdict<Output>, Error>>;
}

/// A pre hook as a layer.
pub struct PreLayer(Arc<dyn PreHook>);

impl PreLayer {
    /// The layer of this hook.
    pub fn new(hook: Arc<dyn PreHook>) -> Self {
        Self(hook)
    }
}

impl Layer for PreLayer {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn role(&self) -> Role {
        Role::PreHook
    }

    /// The hook's limit is for its judgement, not for the rest of the stack.
    fn limit(&self) -> Option<Duration> {
        None
    }

    fn handle<'a>(&'a self, cx: &'a Cx, operation: Operation, next: Next) -> BoxFuture<'a, Result<Output, Refusal>> {
        Box::pin(async move {
            let verdict = within(self.0.limit(), self.0.judge(cx, &operation)).await.flatten();
            let operation = match verdict.map_err(|error| cx.fail(error))? {
                Verdict::Abstain => {
                    cx.note(Decision::Abstained, None);
                    operation
                }
                Verdict::Allow { reason } => {
                    cx.note(Decision::Allowed, reason);
                    operation
                }
                Verdict::Deny { reason } => return Err(cx.deny(reason)),
                Verdict::Rewrite { to, reason } => {
                    let same = to == operation;
                    cx.note(if same { Decision::Allowed } else { Decision::Rewrote }, reason);
                    to
                }
            };
            next.run(operation).await
        })
    }
}

/// A post hook as a layer.
pub struct PostLayer(Arc<dyn PostHook>);

impl PostLayer {
    /// The layer of this hook.
    pub fn new(hook: Arc<dyn PostHook>) -> Self {
        Self(hook)
    }
}

impl Layer for PostLayer {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn role(&self) -> Role {
        Role::PostHook
    }

    /// The hook's limit is for its judgement, not for the rest of the stack.
    fn limit(&self) -> Option<Duration> {
        None
    }

    fn handle<'a>(&'a self, cx: &'a Cx, operation: Operation, next: Next) -> BoxFuture<'a, Result<Output, Refusal>> {
        Box::pin(async move {
            let output = next.run(operation.clone()).await?;
            let verdict = within(self.0.limit(), self.0.judge(cx, &operation, &output))
                .await
                .flatten();
            match verdict.map_err(|error| cx.fail(error))? {
                Verdict::Abstain => {
                    cx.note(Decision::Abstained, None);
                    Ok(output)
                }
                Verdict::Allow { reason } => {
                    cx.note(Decision::Allowed, reason);
                    Ok(output)
                }
                Verdict::Deny { reason } => Err(cx.deny(reason)),
                Verdict::Rewrite { to, reason } => {
                    let same = to == output;
                    cx.note(if same { Decision::Allowed } else { Decision::Rewrote }, reason);
                    Ok(to)
                }
            }
        })
    }
}

/// A pre hook that must say yes: where it abstains, the operation is denied. Every rule
/// whose name ends in `.allow` is one, wherever it stands.
pub struct Gate(pub Arc<dyn PreHook>);

impl PreHook for Gate {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn limit(&self) -> Option<Duration> {
        self.0.limit()
    }

    fn judge<'a>(&'a self, cx: &'a Cx, input: &'a Operation) -> BoxFuture<'a, Result<Verdict<Operation>, Error>> {
        Box::pin(async move {
            Ok(match self.0.judge(cx, input).await? {
                Verdict::Abstain => Verdict::Deny { reason: None },
                spoken => spoken,
            })
        })
    }
}
