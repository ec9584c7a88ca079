//! What happens where V8 knows no other way out of memory than to end the process.
//!
//! The limits of an isolate end its script long before, save for a few of V8's own loops
//! that ask for one impossible object. V8 aborts when the handler returns, so the handler
//! does not: the thread stops here for good, the isolate's memory is lost, and everybody
//! else goes on.

use std::{cell::RefCell, ffi::c_char, thread};

use ::deno_core::v8;

use crate::{Cause, Terminator};

thread_local! {
    /// What stops the isolate that was made last on this thread.
    static CURRENT: RefCell<Option<Terminator>> = const { RefCell::new(None) };
}

/// Keeps the process alive when this isolate, made on this thread, runs out of memory.
pub(crate) fn survive(isolate: &mut v8::Isolate, terminator: &Terminator) {
    CURRENT.set(Some(terminator.clone()));
    isolate.set_oom_error_handler(stop_here);
}

unsafe extern "C" fn stop_here(_location: *const c_char, _details: &v8::OomDetails) {
    // A thread that is ending has no thread-locals any more, and no isolate either.
    let _ = CURRENT.try_with(|current| {
        if let Ok(current) = current.try_borrow()
            && let Some(terminator) = &*current
        {
            terminator.terminate(Cause::Memory);
        }
    });
    loop {
        thread::park();
    }
}
