//! The call: who causes an operation, and what has happened to it so far.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{
    error::{Denial, Error, Refusal, Role},
    json::Value,
    operation::{Operation, OperationKind, Output},
    record::{Decision, Recorder, Steps},
};

/// One script execution, on whose behalf operations are performed. Made by the host once
/// an execution; nothing a script or a hook says changes it.
pub struct Caller {
    /// Identifies the execution within this process.
    pub execution: String,
    /// The session's `X-MCP-*` headers, prefix stripped, names in lower case.
    pub mcp_headers: BTreeMap<String, String>,
    /// The session's verified token claims.
    pub claims: Option<Value>,
    /// Where finished operations are reported, if anywhere.
    pub recorder: Option<Arc<dyn Recorder>>,
}

impl Caller {
    /// A caller without session headers, claims and recorder.
    pub fn new(execution: impl Into<String>) -> Self {
        Self {
            execution: execution.into(),
            mcp_headers: BTreeMap::new(),
            claims: None,
            recorder: None,
        }
    }
}

impl fmt::Debug for Caller {
    /// The execution only: headers and claims may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller")
            .field("execution", &self.execution)
            .finish_non_exhaustive()
    }
}

/// One operation on its way through a stack.
#[derive(Debug)]
pub struct Call {
    caller: Arc<Caller>,
    kind: OperationKind,
    id: u64,
    target: String,
    steps: Option<Mutex<Steps>>,
}

impl Call {
    /// A call for this operation. Its kind is what every descent is held to.
    pub fn new(caller: Arc<Caller>, operation: &Operation) -> Self {
        static IDS: AtomicU64 = AtomicU64::new(1);
        let steps = caller.recorder.is_some().then(Mutex::default);
        Self {
            caller,
            kind: operation.kind(),
            id: IDS.fetch_add(1, Ordering::Relaxed),
            target: operation.target(),
            steps,
        }
    }

    /// Who causes the operation.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The operation's kind.
    pub fn kind(&self) -> OperationKind {
        self.kind
    }

    /// The operation's number, unique within this process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// What the script aimed at, without userinfo and query.
    pub fn target(&self) -> &str {
        &self.target
    }

    pub(crate) fn with_steps<T>(&self, f: impl FnOnce(&mut Steps) -> T) -> Option<T> {
        let steps = self.steps.as_ref()?;
        // A poisoned lock means that a recorder panicked; what was recorded is still true.
        Some(f(&mut steps.lock().unwrap_or_else(std::sync::PoisonError::into_inner)))
    }
}

/// What one layer knows while it handles one operation: the call, and its own place in it.
#[derive(Clone, Debug)]
pub struct Cx {
    call: Arc<Call>,
    role: Role,
    name: Arc<str>,
    step: Option<usize>,
}

impl Cx {
    /// An operation comes to a place in the stack, with `depth` places around it.
    pub(crate) fn enter(call: Arc<Call>, role: Role, name: &Arc<str>, depth: usize) -> Self {
        let step = call.with_steps(|steps| steps.enter(name, role, depth)).flatten();
        Self {
            call,
            role,
            name: name.clone(),
            step,
        }
    }

    /// It leaves that place again. `inner` is the output that the rest of the stack gave
    /// last, to name the fields that this place changed in it.
    pub(crate) fn leave(&self, end: &Result<Output, Refusal>, inner: Option<Output>) {
        self.with_step(|steps, step| {
            let changed = match (end, inner) {
                (Ok(output), Some(inner)) => inner.changed_fields(output),
                _ => Vec::new(),
            };
            steps.leave(step, end.as_ref().err(), &changed);
        });
    }

    /// Works on this place's own step, where steps are kept.
    pub(crate) fn with_step(&self, f: impl FnOnce(&mut Steps, usize)) {
        if let Some(step) = self.step {
            self.call.with_steps(|steps| f(steps, step));
        }
    }

    /// The call.
    pub fn call(&self) -> &Arc<Call> {
        &self.call
    }

    /// The place of the one at work.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Its name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The refusal of a layer that decides against the operation. Recorded.
    pub fn deny(&self, reason: Option<String>) -> Refusal {
        let denial = Denial::new(self.role, reason);
        self.note(Decision::Denied, denial.reason.clone());
        Refusal::Denied(denial)
    }

    /// The refusal of a layer that could not do its work. Recorded.
    pub fn fail(&self, error: Error) -> Refusal {
        let error = error.at(self.role, &self.name);
        self.note(Decision::Failed, Some(error.message().to_owned()));
        Refusal::Failed(error)
    }

    /// Records what this layer decided. The last note counts.
    pub fn note(&self, decision: Decision, reason: Option<String>) {
        self.with_step(|steps, step| steps.note(step, decision, reason));
    }
}
