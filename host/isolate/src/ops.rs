//! Which native functions exist for an isolate.
//!
//! deno_core brings some ninety ops, among them one that panics, one that prints and some
//! that load code. A guest can reach every op by redefining built-ins that deno_core's own
//! script uses, so what isn't needed is replaced by a function that throws.

use deno_error::JsErrorBox;

use crate::deno_core::{self, Extension, OpDecl, op2};

/// The ops of deno_core that every isolate needs: its event loop, timers and promises.
/// They neither act on the outside nor fail on odd arguments.
pub const CORE_OPS: &[&str] = &[
    "op_dispatch_exception",
    "op_drain_pending_rejections",
    "op_get_ext_import_meta_proto",
    "op_get_extras_binding_object",
    "op_immediate_check",
    "op_run_microtasks",
    "op_set_captured_bootstrap",
    "op_timer_now",
    "op_timer_schedule",
    "op_timer_track",
    "op_timer_untrack",
];

/// An extension that leaves [`CORE_OPS`] and `allowed` as they are and makes every other op
/// throw. It adds nothing itself; put it anywhere in the list.
pub fn refuse_ops(allowed: &'static [&'static str]) -> Extension {
    Extension {
        name: "seam_refuse_ops",
        middleware_fn: Some(Box::new(move |op| {
            if CORE_OPS.contains(&op.name) || allowed.contains(&op.name) {
                op
            } else {
                refused(op)
            }
        })),
        ..Default::default()
    }
}

/// The same op with a body that throws. An async op's caller gets a rejected promise:
/// deno_core's stub around it turns what is thrown into one. There is no fast variant,
/// because V8 would silently do nothing there.
fn refused(op: OpDecl) -> OpDecl {
    const REFUSE: OpDecl = op_seam_refused();
    op.with_implementation_from(&REFUSE)
}

#[op2(nofast)]
fn op_seam_refused() -> Result<(), JsErrorBox> {
    Err(JsErrorBox::type_error("this function is not available here"))
}
