//! The arguments of `run_js`.

use std::{fmt, ops::RangeInclusive, time::Duration};

use rmcp::{model::JsonObject, schemars};
use seam_sandbox::{Limits, Script};
use serde_json::Value;

use crate::execution::{self, MAX_HEAP_MB, MAX_TIME_SECS, MIN_HEAP_MB};

/// How large a script may be, in bytes.
const MAX_CODE: usize = Limits::MAX_CODE_BYTES;

/// What `run_js` takes. The schema that clients see is made from this.
#[derive(Debug, PartialEq, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The script: JavaScript or TypeScript (types are stripped, not checked), run as a
    /// module with top-level await.
    pub(super) code: String,
    /// Stops the script after this many seconds.
    #[schemars(with = "u64", range(min = 1, max = MAX_TIME_SECS), default = "default_time")]
    pub(super) timeout_secs: Option<u64>,
    /// Stops the script when its heap has grown to this many MiB.
    #[schemars(with = "u64", range(min = MIN_HEAP_MB, max = MAX_HEAP_MB), default = "default_heap")]
    pub(super) heap_memory_max_mb: Option<u64>,
}

fn default_time() -> u64 {
    Limits::DEFAULT_TIME.as_secs()
}

fn default_heap() -> u64 {
    Limits::DEFAULT_HEAP_MB as u64
}

/// What is wrong with the arguments, for the model to read.
#[derive(Debug, PartialEq)]
pub(super) struct Mistake(pub(super) String);

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Arguments {
    /// Reads the arguments of a call.
    pub(super) fn read(mut given: JsonObject) -> Result<Self, Mistake> {
        let code = match given.remove("code") {
            Some(Value::String(code)) if code.len() <= MAX_CODE => code,
            Some(Value::String(code)) => {
                let bytes = code.len();
                return Err(Mistake(format!(
                    "code has {bytes} bytes, more than the limit of {MAX_CODE}"
                )));
            }
            Some(other) => {
                return Err(Mistake(format!(
                    "code is {}, expected the script as a string",
                    name(&other)
                )));
            }
            None => return Err(Mistake("code is missing, expected the script as a string".into())),
        };
        let arguments = Self {
            code,
            timeout_secs: number(&mut given, "timeout_secs", "seconds", 1..=MAX_TIME_SECS)?,
            heap_memory_max_mb: number(&mut given, "heap_memory_max_mb", "MiB", MIN_HEAP_MB..=MAX_HEAP_MB)?,
        };
        match given.keys().next() {
            None => Ok(arguments),
            Some(key) => {
                let key: String = key.chars().take(80).collect();
                let accepted = "code, timeout_secs, heap_memory_max_mb";
                Err(Mistake(format!("unknown argument {key:?}; accepted are {accepted}")))
            }
        }
    }

    pub(super) fn limits(&self) -> Limits {
        let time = Duration::from_secs(self.timeout_secs.unwrap_or_else(default_time));
        execution::limits(time, self.heap_memory_max_mb.unwrap_or_else(default_heap))
    }

    pub(super) fn into_script(self) -> Script {
        Script::new(self.code)
    }
}

/// Takes a number out of the arguments; absent and `null` are the same.
fn number(given: &mut JsonObject, key: &str, unit: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, Mistake> {
    let value = match given.remove(key) {
        None | Some(Value::Null) => return Ok(None),
        Some(value) => value,
    };
    // Some clients write whole numbers as 30.0; what has a fraction stays refused.
    let whole = value.as_u64().or_else(|| {
        value
            .as_f64()
            .filter(|n| n.fract() == 0.0 && *n >= 0.0)
            .map(|n| n as u64)
    });
    match whole.filter(|number| range.contains(number)) {
        Some(number) => Ok(Some(number)),
        None => {
            let (from, to) = (range.start(), range.end());
            Err(Mistake(format!(
                "{key} is {}, expected a whole number of {unit} from {from} to {to}",
                name(&value)
            )))
        }
    }
}

fn name(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        Value::String(_) => "a string".into(),
        Value::Bool(value) => value.to_string(),
        Value::Array(_) => "an array".into(),
        Value::Object(_) => "an object".into(),
        Value::Null => "null".into(),
    }
}
