//! The component's exports.

use super::{heap, policy};

mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit", "wit"],
        world: "seam:rego/rego",
        generate_all,
    });
}

use bindings::exports::seam::hooks::{document_post, document_pre};
use bindings::exports::seam::rego::setup;

/// Memory that a call finds ready in the snapshot, in bytes: what judging a document of
/// ordinary size takes, so that no call has to grow the memory.
const HEADROOM: usize = 1 << 20;

struct Rego;

impl setup::Guest for Rego {
    fn load(files: Vec<(String, String)>, rule: String, warm_up: String) -> Result<(), String> {
        policy::load(files, rule, &warm_up).map_err(String::from)?;
        heap::reserve(HEADROOM);
        Ok(())
    }

    fn evaluator() -> String {
        policy::EVALUATOR.to_owned()
    }
}

impl document_pre::Guest for Rego {
    fn pre(_cx: &document_pre::Context, _operation: String, input: String) -> Result<Option<String>, String> {
        policy::judge(&input).map_err(String::from)
    }
}

impl document_post::Guest for Rego {
    fn post(_cx: &document_post::Context, _operation: String, both: String) -> Result<Option<String>, String> {
        policy::judge(&both).map_err(String::from)
    }
}

bindings::export!(Rego with_types_in bindings);
