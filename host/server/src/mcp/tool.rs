//! What clients are told about `run_js`, from the live configuration.

use std::sync::Arc;

use rmcp::{
    model::{JsonObject, Tool, ToolAnnotations},
    schemars::{JsonSchema, generate::SchemaSettings},
};
use serde_json::Value;

use super::{answer::Answer, arguments::Arguments};
use crate::execution::{Executions, MAX_HEAP_MB, MAX_TIME_SECS};

/// The tool as it stands in `tools/list`.
pub(super) fn describe(executions: &Executions) -> Tool {
    let effects = match &executions.stacks().fetch {
        Some(stack) if stack.places().count() > 1 => {
            "Effects: fetch(url, init) exists, with Request, Response and Headers. Every request passes the operator's \
             hooks and policies, which may change or deny it; a denied call throws an error named Denied, with the \
             reason in its message. Redirects are not followed. Nothing else reaches outside: there are no files, \
             processes, sockets, imports or packages."
        }
        Some(_) => {
            "Effects: fetch(url, init) exists, with Request, Response and Headers. Redirects are not followed. Nothing \
             else reaches outside: there are no files, processes, sockets, imports or packages."
        }
        None => {
            "Effects: none. fetch does not exist here, since this server is configured without it; there are no files, \
             processes, sockets, imports or packages either. The script can only compute."
        }
    };
    let description = format!(
        "Runs JavaScript or TypeScript in a fresh, isolated V8 and returns its result: the default export if there is \
         one, else the value of the last expression. Top-level await works; console output is returned too. Nothing is \
         kept from one call to the next.\n\n{effects}\n\nLimits: at most {MAX_TIME_SECS} seconds and {MAX_HEAP_MB} MiB of heap; long \
         output is cut."
    );
    let annotations = ToolAnnotations::with_title("Run JavaScript").open_world(executions.stacks().fetch.is_some());
    let annotations = match executions.stacks().fetch {
        Some(_) => annotations,
        None => annotations.read_only(true),
    };
    Tool::new("run_js", description, schema::<Arguments>())
        .with_raw_output_schema(schema::<Answer>())
        .with_annotations(annotations)
}

/// A schema in the oldest dialect that clients know, without references.
fn schema<T: JsonSchema>() -> Arc<JsonObject> {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    match settings.into_generator().into_root_schema_for::<T>().to_value() {
        Value::Object(schema) => Arc::new(schema),
        // The derive makes an object of every struct.
        _ => Arc::default(),
    }
}
