//! A record as one JSON line.

use std::time::{Duration, SystemTime};

use seam_contract::{
    json::{self, Value},
    record::{Record, Step},
};

/// The line, its line end included. `us` are microseconds, `time_ms` is the end of the
/// operation in milliseconds since 1970.
pub(super) fn line(record: &Record) -> String {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let value = Value::object([
        (
            "time_ms",
            Value::number(u64::try_from(now.as_millis()).unwrap_or(u64::MAX)),
        ),
        ("execution", Value::string(&record.execution)),
        ("id", Value::number(record.id)),
        ("operation", Value::string(record.operation.name())),
        ("target", Value::string(&record.target)),
        ("outcome", Value::string(record.outcome.to_string())),
        ("us", micros(record.duration)),
        ("steps", Value::Array(record.steps.iter().map(step).collect())),
    ]);
    json::write(&value) + "\n"
}

fn step(step: &Step) -> Value {
    Value::object([
        ("name", Value::string(&step.name)),
        ("role", Value::string(step.role.to_string())),
        ("depth", Value::number(step.depth as u64)),
        ("decision", Value::string(step.decision.to_string())),
        ("reason", Value::string_or_null(step.reason.as_deref())),
        (
            "rewrote",
            Value::Array(step.rewrote.iter().map(|field| Value::string(*field)).collect()),
        ),
        ("us", micros(step.own)),
    ])
}

fn micros(duration: Duration) -> Value {
    Value::number(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
}

#[cfg(test)]
pub(super) mod tests {
    use seam_contract::{
        OperationKind, Role,
        record::{Decision, Outcome},
    };

    use super::*;

    pub(crate) fn record() -> Record {
        let step = |name: &str, role, depth, decision, reason: Option<&str>, rewrote: &[&'static str]| Step {
            name: name.into(),
            role,
            depth,
            decision,
            reason: reason.map(str::to_owned),
            rewrote: rewrote.to_vec(),
            own: Duration::from_micros(41),
        };
        Record {
            execution: "x-1".into(),
            id: 7,
            operation: OperationKind::Fetch,
            target: "http://ok.test/".into(),
            steps: vec![
                step("a.js", Role::PreHook, 0, Decision::Rewrote, None, &["url", "headers"]),
                step("@policy", Role::Policy, 1, Decision::Denied, Some("no\n\"way\""), &[]),
            ],
            outcome: Outcome::Denied,
            duration: Duration::from_micros(1234),
        }
    }

    #[test]
    fn a_record_is_one_line_of_json() {
        let line = line(&record());
        assert_eq!(line.matches('\n').count(), 1);
        let value = json::parse(line.trim_end()).unwrap();
        assert_eq!(value.get("outcome").and_then(Value::as_str), Some("denied"));
        assert_eq!(value.get("us"), Some(&Value::number(1234_u64)));
        let Some(Value::Array(steps)) = value.get("steps") else {
            panic!("no steps in {line}")
        };
        assert_eq!(steps[1].get("reason").and_then(Value::as_str), Some("no\n\"way\""));
        assert_eq!(
            steps[0].get("rewrote"),
            Some(&Value::Array(vec![Value::string("url"), Value::string("headers")]))
        );
    }
}
