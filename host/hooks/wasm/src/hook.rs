//! Components in their places: each role as the trait of the contract it stands for.

mod document;
mod fetch;

use std::{sync::Arc, time::Duration};

use seam_contract::{Cx, Error, Operation, Refusal, document::Bodies, error::bounded};

use crate::{bindings::seam::hooks::call, component::Loaded, session::Session};

/// What a component is used on.
pub(crate) struct Terms {
    pub(crate) component: Arc<Loaded>,
    /// How long one call may take.
    pub(crate) limit: Duration,
    /// Whether it is given request bodies.
    pub(crate) bodies: Bodies,
}

impl Terms {
    async fn start(&self, cx: &Cx, received: &Operation, crossing: usize) -> Result<Session, Error> {
        Session::start(&self.component, cx, received, self.bodies, self.limit, crossing).await
    }
}

/// A component in one of its roles; `door` is where the role is found in an instance.
pub(crate) struct Hook<Door> {
    terms: Terms,
    door: Door,
}

impl<Door: Clone> Hook<Door> {
    /// The component in this role.
    pub(crate) fn new(terms: Terms, door: &Door) -> Arc<Self> {
        Arc::new(Self {
            terms,
            door: door.clone(),
        })
    }
}

/// The failure of a guest that says that it could not do its work.
fn said(text: String) -> Error {
    Error::hook(text)
}

/// A reason of any length, as long as records keep it.
fn kept(reason: Option<String>) -> Option<String> {
    reason.map(bounded)
}

/// The end that a layer or an executor chose. A refusal from below is handed on as it came.
fn refusal(cx: &Cx, session: &mut Session, refusal: call::Refusal) -> Refusal {
    match refusal {
        call::Refusal::Deny(reason) => cx.deny(reason),
        call::Refusal::Fail(text) => cx.fail(said(text)),
        call::Refusal::Rethrow(failure) => session.take(failure).unwrap_or_else(|error| cx.fail(error)),
    }
}
