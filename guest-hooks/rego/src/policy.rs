//! The one policy of this component: loaded once, evaluated once a call.
//!
//! Two decisions that make this engine safe to decide with:
//!
//! - Builtin errors are strict. `to_number("abc")` ends the evaluation with an error,
//!   which the host reports as a failure of the hook. The other reading, undefined,
//!   would let a string chosen by the judged script switch a denial off.
//! - The interpreter evaluates. regorus' compiled evaluator is faster, but an error
//!   in a rule's body makes that body undefined there whatever its settings, and two
//!   complete rules that disagree make the rule undefined instead of an error. Both
//!   would turn a denial into an abstention.

use std::cell::RefCell;

use regorus::{Engine, Value};

use crate::json;
use crate::message::Message;
use crate::{names, rules};

/// What `evaluator` answers.
pub const EVALUATOR: &str = "interpreter";

thread_local! {
    static POLICY: RefCell<Option<Policy>> = const { RefCell::new(None) };
}

/// An engine with its policies analysed, and the rule it is asked for.
struct Policy {
    engine: Engine,
    rule: String,
}

/// Parses, analyses and warms up. The component has a policy afterwards, or an error
/// naming the file and line, or the rule that is missing.
pub fn load(files: Vec<(String, String)>, rule: String, warm_up: &str) -> Result<(), Message> {
    if POLICY.with_borrow(Option::is_some) {
        return Err(Message::new("a policy is already loaded; make a new instance"));
    }
    let mut engine = Engine::new();
    engine.set_strict_builtin_errors(true);
    for (name, text) in files {
        engine.add_policy(name, text).map_err(Message::of)?;
    }
    rules::check_defined(&mut engine, &rule)?;
    names::check(&mut engine)?;
    let warm_up = json::parse(warm_up).map_err(|error| Message::new(format!("warm-up document: {error}")))?;

    let mut policy = Policy { engine, rule };
    policy
        .engine
        .compile_with_entrypoint(&policy.rule.as_str().into())
        .map_err(Message::of)?;
    // The first evaluation builds what later ones reuse (schedules, compiled regular
    // expressions). What it says about a made-up document means nothing.
    let _ = policy.evaluate(warm_up);
    POLICY.set(Some(policy));
    Ok(())
}

/// Evaluates the rule on one document. `None` where the rule is undefined, else the
/// JSON text of its value.
pub fn judge(input: &str) -> Result<Option<String>, Message> {
    let input = json::parse(input).map_err(|error| Message::new(format!("input document: {error}")))?;
    let verdict = POLICY.with_borrow_mut(|policy| match policy {
        Some(policy) => policy.evaluate(input),
        None => Err(Message::new("no policy is loaded; call load first")),
    })?;
    match verdict {
        Value::Undefined => Ok(None),
        value => json::write(&value)
            .map(Some)
            .map_err(|error| Message::new(format!("value of the rule: {error}"))),
    }
}

impl Policy {
    fn evaluate(&mut self, input: Value) -> Result<Value, Message> {
        self.engine.set_input(input);
        self.engine
            .eval_rule(self.rule.clone())
            .map_err(|error| Message::of(error).within(&self.rule))
    }
}

#[cfg(test)]
mod tests;
