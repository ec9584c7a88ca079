//! The binary's own account of its operations: the JSON lines of `seam serve --trace`.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// One operation on record.
#[derive(Clone, Debug)]
pub struct Operation {
    /// What the script aimed at.
    pub target: String,
    /// How it ended, such as `answered`.
    pub outcome: String,
    /// How long it took, in microseconds.
    pub micros: u64,
    /// Every place it came to, in order of entry.
    pub steps: Vec<Step>,
}

/// What one place made of an operation.
#[derive(Clone, Debug)]
pub struct Step {
    /// The name of the hook, `@policy` or `@execute`.
    pub name: String,
    /// Its role, such as `layer`.
    pub role: String,
    /// How many layers are around it.
    pub depth: usize,
    /// What it made of the operation, such as `rewrite`.
    pub decision: String,
    /// Why.
    pub reason: Option<String>,
    /// The fields it changed.
    pub rewrote: Vec<String>,
    /// How long it worked itself, in microseconds.
    pub micros: u64,
}

impl Operation {
    /// The decision of the place of this name; a test names places that are there.
    pub fn decision(&self, name: &str) -> Option<&str> {
        self.step(name).map(|step| step.decision.as_str())
    }

    /// The step of this name.
    pub fn step(&self, name: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.name == name)
    }
}

/// Every operation in a trace file, in order of their end. The server must have ended: it
/// writes on a thread of its own.
///
/// Errors: a line that is no record, or a count of records that were dropped.
pub fn read(path: &Path) -> Result<Vec<Operation>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("no trace at {}", path.display()))?;
    text.lines()
        .map(|line| operation(line).with_context(|| format!("not a record: {line}")))
        .collect()
}

fn operation(line: &str) -> Result<Operation> {
    let value: Value = serde_json::from_str(line)?;
    if let Some(dropped) = value.get("dropped") {
        bail!("{dropped} records were dropped");
    }
    let steps = value["steps"].as_array().context("no steps")?;
    Ok(Operation {
        target: string(&value, "target")?,
        outcome: string(&value, "outcome")?,
        micros: number(&value, "us")?,
        steps: steps.iter().map(step).collect::<Result<_>>()?,
    })
}

fn step(value: &Value) -> Result<Step> {
    let fields = value["rewrote"].as_array().context("no rewrote")?;
    Ok(Step {
        name: string(value, "name")?,
        role: string(value, "role")?,
        depth: usize::try_from(number(value, "depth")?)?,
        decision: string(value, "decision")?,
        reason: value["reason"].as_str().map(str::to_owned),
        rewrote: fields.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        micros: number(value, "us")?,
    })
}

fn string(value: &Value, key: &str) -> Result<String> {
    Ok(value[key].as_str().with_context(|| format!("no {key}"))?.to_owned())
}

fn number(value: &Value, key: &str) -> Result<u64> {
    value[key].as_u64().with_context(|| format!("no {key}"))
}
