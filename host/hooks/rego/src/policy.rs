//! A loaded policy, and the places it can take.

use std::{fmt, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use seam_contract::{
    Cx, Error, ErrorKind, Gate, Operation, OperationKind, Output, PostHook, PreHook, Verdict, document::Bodies,
    verdict::Side,
};
use seam_hook_wasm::Component;

/// The last name of a rule that must say yes.
const GATE: &str = ".allow";

/// Rego files and the rule to be asked, ready to judge. Cheap to clone.
#[derive(Clone)]
pub struct Policy {
    component: Component,
    rule: Arc<str>,
    kind: OperationKind,
    side: Side,
}

impl Policy {
    pub(crate) fn new(component: Component, rule: &str, kind: OperationKind, side: Side) -> Self {
        Self {
            component,
            rule: rule.into(),
            kind,
            side,
        }
    }

    /// The rule it answers with.
    pub fn rule(&self) -> &str {
        &self.rule
    }

    /// Whether it must say yes: its rule ends in `.allow`, so undefined denies.
    pub fn is_gate(&self) -> bool {
        self.rule.ends_with(GATE)
    }

    /// As a pre hook or a policy. `limit` is the time one call may take.
    ///
    /// Errors (kind `config`): it was loaded to judge outputs.
    pub fn pre_hook(&self, limit: Duration, bodies: Bodies) -> Result<Arc<dyn PreHook>, Error> {
        self.loaded_for(Side::Input)?;
        let hook = self.component.pre_hook(self.kind, limit, bodies)?;
        Ok(if self.is_gate() { Arc::new(Gate(hook)) } else { hook })
    }

    /// As a post hook. `limit` is the time one call may take.
    ///
    /// Errors (kind `config`): it was loaded to judge inputs.
    pub fn post_hook(&self, limit: Duration, bodies: Bodies) -> Result<Arc<dyn PostHook>, Error> {
        self.loaded_for(Side::Output)?;
        let hook = self.component.post_hook(self.kind, limit, bodies)?;
        Ok(if self.is_gate() { Arc::new(PostGate(hook)) } else { hook })
    }

    fn loaded_for(&self, side: Side) -> Result<(), Error> {
        if self.side == side {
            return Ok(());
        }
        let message = format!(
            "{} was loaded to judge the {}, not the {}",
            self.component.name(),
            self.side.key(),
            side.key()
        );
        Err(Error::new(ErrorKind::Config, message))
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.component.name(), self.rule)
    }
}

/// A post hook that must say yes, as [`Gate`] is a pre hook.
struct PostGate(Arc<dyn PostHook>);

impl PostHook for PostGate {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn limit(&self) -> Option<Duration> {
        self.0.limit()
    }

    fn judge<'a>(
        &'a self,
        cx: &'a Cx,
        input: &'a Operation,
        output: &'a Output,
    ) -> BoxFuture<'a, Result<Verdict<Output>, Error>> {
        Box::pin(async move {
            Ok(match self.0.judge(cx, input, output).await? {
                Verdict::Abstain => Verdict::Deny { reason: None },
                spoken => spoken,
            })
        })
    }
}
