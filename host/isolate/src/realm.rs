//! What is taken out of a realm before anything foreign runs in it.

use ::deno_core::v8;

/// Plain JavaScript that closes the ways around the array buffer limit. V8 allocates
/// resizable buffers itself, past the allocator, so they don't exist here: the
/// constructor ignores its second argument, as engines before them did, and the members
/// that tell of them are gone.
///
/// To be evaluated once in every realm, at best before its snapshot is made;
/// [`Isolate::new`](crate::Isolate::new) does it where it starts without a snapshot.
pub const HARDEN: &str = include_str!("harden.js");

/// The globals that go when a realm is complete. deno_core needs the first two while it
/// starts, from a snapshot too, so they can't be left out of one. `WebAssembly.Memory`
/// bypasses the array buffer allocator, and no flag of V8 leaves WebAssembly out.
const REMOVED: &[&str] = &["Deno", "__bootstrap", "WebAssembly", "SharedArrayBuffer"];

/// Removes what [`REMOVED`] names.
pub(crate) fn strip(scope: &mut v8::PinScope<'_, '_>) -> bool {
    let global = scope.get_current_context().global(scope);
    REMOVED.iter().all(|name| {
        v8::String::new(scope, name)
            .and_then(|key| global.delete(scope, key.into()))
            .unwrap_or(false)
    })
}
