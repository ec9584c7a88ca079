//! One call of one guest: a fresh store and a fresh instance, thrown away afterwards.

use std::time::{Duration, Instant};

use seam_contract::{Cx, Error, Operation, document::Bodies};
use wasmtime::{
    Store, UpdateDeadline,
    component::{Instance, Resource},
};

use crate::{
    component::Loaded,
    engine::Engine,
    limits::HANDLES,
    state::{At, State},
    ticker::Running,
    trap,
};

/// A guest at work. Dropping it ends the guest, wherever it is.
pub(crate) struct Session {
    pub(crate) store: Store<State>,
    pub(crate) instance: Instance,
    limit: Duration,
    _time: Running,
}

impl Session {
    /// Brings up an instance for one call. `crossing` is how many bytes it may hand over at
    /// once.
    pub(crate) async fn start(
        component: &Loaded,
        cx: &Cx,
        received: &Operation,
        bodies: Bodies,
        limit: Duration,
        crossing: usize,
    ) -> Result<Self, Error> {
        let time = component.engine.keep_time();
        let at = At {
            cx: cx.clone(),
            bodies,
            received: received.clone(),
        };
        let mut store = store(&component.engine, State::new(Some(at), Instant::now() + limit));
        store.set_hostcall_fuel(crossing);
        match component.pre.instantiate_async(&mut store).await {
            Ok(instance) => Ok(Self {
                store,
                instance,
                limit,
                _time: time,
            }),
            Err(error) => Err(trap::failure(&error, store.data(), limit)),
        }
    }

    /// The value behind a handle that the guest gave away.
    pub(crate) fn take<T: 'static>(&mut self, handle: Resource<T>) -> Result<T, Error> {
        let end = self.store.data_mut().table.delete(handle);
        self.settled(end.map_err(wasmtime::Error::from))
    }

    /// Makes the guest's end without an answer a failure of the hook.
    pub(crate) fn settled<T>(&self, end: wasmtime::Result<T>) -> Result<T, Error> {
        end.map_err(|error| trap::failure(&error, self.store.data(), self.limit))
    }
}

/// A store with every limit set.
pub(crate) fn store(engine: &Engine, state: State) -> Store<State> {
    let mut store = Store::new(engine.wasmtime(), state);
    store.limiter(|state| &mut state.limiter);
    store.set_max_component_handles(HANDLES);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(|store| {
        Ok(if Instant::now() < store.data().deadline {
            UpdateDeadline::Yield(1)
        } else {
            UpdateDeadline::Interrupt
        })
    });
    store
}
