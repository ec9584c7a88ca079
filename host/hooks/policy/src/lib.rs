//! The policies of an operation as one layer, `@policy`.
//!
//! A policy is a pre hook that answers yes or no and stands last, so that it judges what
//! will really be executed. Several combine under a [`Mode`].
//!
//! **Architecture invariant.** A policy never changes an operation: a source that answers
//! with a rewrite fails the operation, because nothing could judge the rewritten one.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use seam_contract::{
    Cx, Error, Layer, Next, Operation, Output, PreHook, Refusal, Role, Verdict, record::Decision, stack::within,
};

/// How several policies combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Every source must say yes; the first that does not ends it. An empty list allows.
    All,
    /// One yes is enough and ends it. A source that fails is passed over; where none says
    /// yes, its failure is the end. An empty list denies.
    Any,
}

/// The layer of an operation's policies.
pub struct Policy {
    mode: Mode,
    sources: Vec<Arc<dyn PreHook>>,
}

impl Policy {
    /// The policies in this order. Each source must speak: where it abstains, that is a no.
    pub fn new(mode: Mode, sources: Vec<Arc<dyn PreHook>>) -> Self {
        Self { mode, sources }
    }

    async fn judge(&self, cx: &Cx, operation: &Operation) -> Result<Yes, No> {
        let mut first_no = None;
        let mut first_error = None;
        let mut yes = Yes(None);
        for source in &self.sources {
            match (self.mode, ask(source.as_ref(), cx, operation).await) {
                (Mode::All, Ok(spoken)) => yes = Yes(spoken.0.or(yes.0)),
                (Mode::All, Err(no)) => return Err(no),
                (Mode::Any, Ok(yes)) => return Ok(yes),
                (Mode::Any, Err(No::Failed(error))) => first_error = first_error.or(Some(error)),
                (Mode::Any, Err(No::Denied(reason))) => first_no = first_no.or(Some(reason)),
            }
        }
        match (self.mode, first_error) {
            (Mode::All, _) => Ok(yes),
            (Mode::Any, Some(error)) => Err(No::Failed(error)),
            (Mode::Any, None) => Err(No::Denied(first_no.flatten())),
        }
    }
}

/// An approval, and why.
struct Yes(Option<String>);

/// Why a source did not approve.
enum No {
    Denied(Option<String>),
    Failed(Error),
}

/// Asks one source. No verdict is a no, and the name of the one that failed is in its
/// error, since all sources share one place in the stack.
async fn ask(source: &dyn PreHook, cx: &Cx, operation: &Operation) -> Result<Yes, No> {
    match within(source.limit(), source.judge(cx, operation)).await.flatten() {
        Ok(Verdict::Allow { reason }) => Ok(Yes(reason)),
        Ok(Verdict::Deny { reason }) => Err(No::Denied(reason)),
        Ok(Verdict::Abstain) => Err(No::Denied(None)),
        Ok(Verdict::Rewrite { to, .. }) if to == *operation => Ok(Yes(None)),
        Ok(Verdict::Rewrite { .. }) => Err(No::Failed(Error::hook(format!(
            "{} answered with a rewrite, which no policy can",
            source.name()
        )))),
        Err(error) => Err(No::Failed(Error::hook(format!(
            "{}: {}",
            source.name(),
            error.message()
        )))),
    }
}

impl Layer for Policy {
    fn name(&self) -> &str {
        "@policy"
    }

    fn role(&self) -> Role {
        Role::Policy
    }

    /// Each source has its own limit.
    fn limit(&self) -> Option<Duration> {
        None
    }

    fn handle<'a>(&'a self, cx: &'a Cx, operation: Operation, next: Next) -> BoxFuture<'a, Result<Output, Refusal>> {
        async move {
            match self.judge(cx, &operation).await {
                Ok(Yes(reason)) => {
                    cx.note(Decision::Allowed, reason);
                    next.run(operation).await
                }
                Err(No::Denied(reason)) => Err(cx.deny(reason)),
                Err(No::Failed(error)) => Err(cx.fail(error)),
            }
        }
        .boxed()
    }
}
