//! What happened to one operation, layer by layer. Never a header, a query or a body.

use std::{
    fmt,
    time::{Duration, Instant},
};

use crate::{
    error::{Refusal, Role},
    operation::OperationKind,
};

/// Takes finished operations. Called on the operation's own path: it must not block.
pub trait Recorder: Send + Sync {
    /// One operation has ended.
    fn record(&self, record: Record);
}

/// One operation, ended.
#[derive(Clone, Debug)]
pub struct Record {
    /// The execution that caused it.
    pub execution: String,
    /// Its number, unique within the process.
    pub id: u64,
    /// Its kind.
    pub operation: OperationKind,
    /// What the script aimed at, without userinfo and query.
    pub target: String,
    /// Every place it came to, in the order of entry.
    pub steps: Vec<Step>,
    /// How it ended.
    pub outcome: Outcome,
    /// From the script's call to its end.
    pub duration: Duration,
}

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was answered.
    Answered,
    /// It was denied.
    Denied,
    /// It failed.
    Failed,
    /// It was given up from outside; see the executor's step for whether an effect was
    /// under way.
    Cancelled,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Answered => "answered",
            Self::Denied => "denied",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        })
    }
}

/// What one place made of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Had no opinion.
    Abstained,
    /// Allowed.
    Allowed,
    /// Denied.
    Denied,
    /// Changed the input or the output; see the step's fields.
    Rewrote,
    /// A layer: ran the rest of the stack and gave its end on.
    Passed,
    /// A layer: answered without the rest of the stack. An executor: performed the effect.
    Answered,
    /// Gave no verdict.
    Failed,
    /// Was given up while it worked.
    Cancelled,
    /// An executor that was given up while it worked: the effect may have happened.
    Unknown,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Abstained => "abstain",
            Self::Allowed => "allow",
            Self::Denied => "deny",
            Self::Rewrote => "rewrite",
            Self::Passed => "pass",
            Self::Answered => "answer",
            Self::Failed => "fail",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        })
    }
}

/// One place an operation came to.
#[derive(Clone, Debug)]
pub struct Step {
    /// The name of the hook, `@policy` or `@execute`.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// How many layers are around it.
    pub depth: usize,
    /// What it made of the operation.
    pub decision: Decision,
    /// Why, in its own words.
    pub reason: Option<String>,
    /// The names of the fields it changed, of the input and of the output.
    pub rewrote: Vec<&'static str>,
    /// How long it worked itself, without the rest of the stack below it.
    pub own: Duration,
}

/// The steps of a call that is under way.
#[derive(Debug, Default)]
pub struct Steps {
    list: Vec<Working>,
}

#[derive(Debug)]
struct Working {
    step: Step,
    noted: Option<Decision>,
    entered: Instant,
    below: Duration,
    descents: u32,
    ended: bool,
}

/// How many steps one record keeps. A layer may retry as often as it likes; its record
/// may not grow with it.
pub const MAX_STEPS: usize = 256;

impl Steps {
    pub(crate) fn enter(&mut self, name: &str, role: Role, depth: usize) -> Option<usize> {
        if self.list.len() == MAX_STEPS {
            return None;
        }
        let decision = if role == Role::Executor {
            Decision::Unknown
        } else {
            Decision::Cancelled
        };
        let step = Step {
            name: name.to_owned(),
            role,
            depth,
            decision,
            reason: None,
            rewrote: Vec::new(),
            own: Duration::ZERO,
        };
        let entered = Instant::now();
        self.list.push(Working {
            step,
            noted: None,
            entered,
            below: Duration::ZERO,
            descents: 0,
            ended: false,
        });
        Some(self.list.len() - 1)
    }

    pub(crate) fn note(&mut self, step: usize, decision: Decision, reason: Option<String>) {
        if let Some(working) = self.list.get_mut(step) {
            working.noted = Some(decision);
            working.step.reason = reason.or(working.step.reason.take());
        }
    }

    pub(crate) fn descended(&mut self, step: usize, changed: &[&'static str]) {
        if let Some(working) = self.list.get_mut(step) {
            working.descents += 1;
            working.rewrote(changed);
        }
    }

    pub(crate) fn returned(&mut self, step: usize, below: Duration) {
        if let Some(working) = self.list.get_mut(step) {
            working.below += below;
        }
    }

    pub(crate) fn leave(&mut self, step: usize, refusal: Option<&Refusal>, changed: &[&'static str]) {
        let Some(working) = self.list.get_mut(step) else { return };
        working.ended = true;
        working.step.own = working.entered.elapsed().saturating_sub(working.below);
        working.rewrote(changed);
        let inferred = match refusal {
            Some(Refusal::Denied(_)) if working.descents == 0 => Decision::Denied,
            Some(Refusal::Failed(_)) if working.descents == 0 => Decision::Failed,
            _ if !working.step.rewrote.is_empty() => Decision::Rewrote,
            Some(_) => Decision::Passed,
            None if working.descents == 0 => Decision::Answered,
            None => Decision::Passed,
        };
        working.step.decision = working.noted.unwrap_or(inferred);
        if working.step.reason.is_none() && matches!(working.step.decision, Decision::Denied | Decision::Failed) {
            working.step.reason = refusal.and_then(|refusal| refusal.reason().map(str::to_owned));
        }
    }

    pub(crate) fn finish(&mut self) -> Vec<Step> {
        let finished = std::mem::take(&mut self.list).into_iter().map(|mut working| {
            if !working.ended {
                working.step.own = working.entered.elapsed().saturating_sub(working.below);
            }
            working.step
        });
        finished.collect()
    }
}

impl Working {
    fn rewrote(&mut self, changed: &[&'static str]) {
        for field in changed {
            if !self.step.rewrote.contains(field) {
                self.step.rewrote.push(field);
            }
        }
    }
}
