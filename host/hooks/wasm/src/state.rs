//! What a store holds while one call of a guest runs.

use std::time::Instant;

use seam_contract::{Cx, Operation, document::Bodies};
use wasmtime::component::{Resource, ResourceTable};

use crate::{
    budget::Budget,
    limits::{HANDLES, Limiter},
};

/// The data of one store: one call of one guest. Thrown away with it.
pub struct State {
    /// The values behind the guest's handles.
    pub(crate) table: ResourceTable,
    /// Counts the guest's memory.
    pub(crate) limiter: Limiter,
    /// Counts what the host keeps for the guest.
    pub(crate) budget: Budget,
    /// When the guest is interrupted.
    pub(crate) deadline: Instant,
    /// The call and the guest's place in it; `None` while a component is only being tried.
    pub(crate) at: Option<At>,
}

/// The call a guest is at work for.
pub(crate) struct At {
    /// The guest's place.
    pub(crate) cx: Cx,
    /// Whether it is given request bodies.
    pub(crate) bodies: Bodies,
    /// The operation it received: what a replacement document is held to.
    pub(crate) received: Operation,
}

impl State {
    /// For one call until `deadline`.
    pub(crate) fn new(at: Option<At>, deadline: Instant) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(HANDLES);
        Self {
            table,
            limiter: Limiter::default(),
            budget: Budget::new(),
            deadline,
            at,
        }
    }

    /// The call. An error, which ends the guest, where there is none: a start function that
    /// reaches for the contract.
    pub(crate) fn at(&self) -> wasmtime::Result<&At> {
        self.at
            .as_ref()
            .ok_or_else(|| wasmtime::format_err!("used the contract before it was called"))
    }

    /// Keeps a value and gives the guest's handle to it.
    pub(crate) fn push<T: Send + 'static>(&mut self, value: T) -> wasmtime::Result<Resource<T>> {
        Ok(self.table.push(value)?)
    }

    /// Lends a value to the guest for the call.
    pub(crate) fn lend<T: Send + 'static>(&mut self, value: T) -> wasmtime::Result<Resource<T>> {
        Ok(Resource::new_borrow(self.table.push(value)?.rep()))
    }
}
