//! The contract as guests call it: every import of `seam:hooks`.
//!
//! Nothing here acts on the world but `next.run`, and that only by way of the stack.

mod call;
mod fetch;
mod next;

use seam_contract::Error;
use wasmtime::component::{HasSelf, Linker, Resource};

use crate::{bindings::Host_, state::State};

/// A linker with the contract in it and nothing else.
pub(crate) fn linker(engine: &wasmtime::Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    Host_::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
    Ok(linker)
}

/// What a `with-…` method answers: a handle, or the reason of the refusal.
type Made<T> = wasmtime::Result<Result<Resource<T>, String>>;

/// The text of a refusal for the guest that asked.
fn refused<T>(error: &Error) -> Made<T> {
    Ok(Err(error.message().to_owned()))
}
