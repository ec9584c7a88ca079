//! Starting V8, once a process.

use std::sync::Once;

use ::deno_core::JsRuntime;

/// How deep scripts may recurse, in KiB of native stack. Threads that run isolates need
/// [`THREAD_STACK`](crate::isolate::THREAD_STACK), which leaves room above it.
const STACK_KIB: usize = 984;

/// Starts V8. Call it on the main thread before any other thread that will create an
/// isolate is spawned: V8's memory protection is inherited by threads. Later calls do
/// nothing.
pub fn init_platform() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let flags = [
            // deno_core's flag reader takes the first word for a program name.
            "seam".to_owned(),
            // Many small isolates: background marking costs more than it saves.
            "--single-threaded-gc".to_owned(),
            // The snapshot is part of this binary.
            "--no-verify-snapshot-checksum".to_owned(),
            // No context of ours asks for it, so it exists nowhere.
            "--enable-sharedarraybuffer-per-context".to_owned(),
            format!("--stack-size={STACK_KIB}"),
        ];
        let unknown = ::deno_core::v8_set_flags(flags.to_vec());
        debug_assert_eq!(unknown.len(), 1, "V8 does not know {unknown:?}");
        JsRuntime::init_platform(None);
    });
}
