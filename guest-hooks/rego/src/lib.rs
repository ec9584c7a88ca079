//! Rego inside a component: the engine, one policy, no way out.
//!
//! The host calls `load` once, snapshots the memory, and judges every operation in a
//! fresh instance of the snapshot: nothing of one evaluation reaches the next.
//! Deliberately absent: clocks, randomness, the network, files, the environment.

mod json;
mod message;
mod names;
mod policy;
mod rules;

mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit", "wit"],
        world: "seam:rego/rego",
        generate_all,
    });
}

use bindings::exports::seam::hooks::{document_post, document_pre};
use bindings::exports::seam::rego::setup;

struct Rego;

impl setup::Guest for Rego {
    fn load(files: Vec<(String, String)>, rule: String, warm_up: String) -> Result<(), String> {
        policy::load(files, rule, &warm_up).map_err(String::from)
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

/// Dependencies that ask for randomness get an error: a verdict depends on the input
/// and the policy alone.
#[unsafe(no_mangle)]
fn __getrandom_v03_custom(_dest: *mut u8, _len: usize) -> Result<(), getrandom::Error> {
    Err(getrandom::Error::UNSUPPORTED)
}
