//! A loaded component: which roles it has, and how it takes a place in a stack.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::executor::block_on;
use seam_contract::{Error, Executor, Layer, OperationKind, PostHook, PreHook, document::Bodies};
use wasmtime::component::InstancePre;

use crate::{
    bindings::exports::seam::hooks as roles,
    engine::Engine,
    hook::{Hook, Terms},
    limits::START,
    session,
    state::State,
    surface::{self, HookRole, check_imports, config},
    trap,
};

/// A component, compiled and checked. Cheap to clone; every call gets an instance of its
/// own, so clones share nothing that a guest could write to.
#[derive(Clone)]
pub struct Component(pub(crate) Arc<Loaded>);

/// What every call of a component starts from.
pub(crate) struct Loaded {
    pub(crate) name: String,
    pub(crate) engine: Arc<Engine>,
    pub(crate) pre: InstancePre<State>,
    roles: Vec<HookRole>,
    doors: Doors,
}

/// Where in the component each role is found, resolved once.
#[derive(Default)]
struct Doors {
    fetch_pre: Option<roles::fetch_pre::GuestIndices>,
    fetch_post: Option<roles::fetch_post::GuestIndices>,
    fetch_layer: Option<roles::fetch_layer::GuestIndices>,
    fetch_executor: Option<roles::fetch_executor::GuestIndices>,
    document_pre: Option<roles::document_pre::GuestIndices>,
    document_post: Option<roles::document_post::GuestIndices>,
    document_layer: Option<roles::document_layer::GuestIndices>,
    document_executor: Option<roles::document_executor::GuestIndices>,
}

impl Component {
    /// Checks what was compiled against the contract, and brings it up once: what doesn't
    /// fit shows here and not at the first call.
    pub(crate) fn prepare(
        engine: &Arc<Engine>,
        name: &str,
        compiled: &wasmtime::component::Component,
    ) -> Result<Self, Error> {
        check_imports(name, engine.wasmtime(), compiled)?;
        let roles = surface::roles(name, engine.wasmtime(), compiled)?;
        let unfit =
            |error: wasmtime::Error| config(format!("{name} does not fit the contract: {}", trap::shown(&error)));
        let pre = engine.linker().instantiate_pre(compiled).map_err(unfit)?;
        let doors = tried(engine, name, &pre, &roles)?;
        Ok(Self(Arc::new(Loaded {
            name: name.to_owned(),
            engine: engine.clone(),
            pre,
            roles,
            doors,
        })))
    }

    /// The name it was loaded under.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The roles it exports.
    pub fn roles(&self) -> &[HookRole] {
        &self.0.roles
    }

    /// As a pre hook of an operation, by its typed role if it has one, else through the JSON
    /// door. `limit` is the time one call may take.
    ///
    /// Errors (kind `config`): it has neither role.
    pub fn pre_hook(&self, kind: OperationKind, limit: Duration, bodies: Bodies) -> Result<Arc<dyn PreHook>, Error> {
        let terms = self.terms(limit, bodies);
        match (kind, &self.0.doors) {
            (
                OperationKind::Fetch,
                Doors {
                    fetch_pre: Some(door), ..
                },
            ) => Ok(Hook::new(terms, door)),
            (
                _,
                Doors {
                    document_pre: Some(door),
                    ..
                },
            ) => Ok(Hook::new(terms, door)),
            _ => Err(self.lacks("a pre hook", kind, &[HookRole::FetchPre, HookRole::DocumentPre])),
        }
    }

    /// As a post hook of an operation; otherwise as [`Component::pre_hook`].
    pub fn post_hook(&self, kind: OperationKind, limit: Duration, bodies: Bodies) -> Result<Arc<dyn PostHook>, Error> {
        let terms = self.terms(limit, bodies);
        match (kind, &self.0.doors) {
            (
                OperationKind::Fetch,
                Doors {
                    fetch_post: Some(door), ..
                },
            ) => Ok(Hook::new(terms, door)),
            (
                _,
                Doors {
                    document_post: Some(door),
                    ..
                },
            ) => Ok(Hook::new(terms, door)),
            _ => Err(self.lacks("a post hook", kind, &[HookRole::FetchPost, HookRole::DocumentPost])),
        }
    }

    /// As a layer around an operation; otherwise as [`Component::pre_hook`].
    pub fn layer(&self, kind: OperationKind, limit: Duration, bodies: Bodies) -> Result<Arc<dyn Layer>, Error> {
        let terms = self.terms(limit, bodies);
        match (kind, &self.0.doors) {
            (
                OperationKind::Fetch,
                Doors {
                    fetch_layer: Some(door),
                    ..
                },
            ) => Ok(Hook::new(terms, door)),
            (
                _,
                Doors {
                    document_layer: Some(door),
                    ..
                },
            ) => Ok(Hook::new(terms, door)),
            _ => Err(self.lacks("a layer", kind, &[HookRole::FetchLayer, HookRole::DocumentLayer])),
        }
    }

    /// In place of the effect of an operation; otherwise as [`Component::pre_hook`].
    pub fn executor(&self, kind: OperationKind, limit: Duration, bodies: Bodies) -> Result<Arc<dyn Executor>, Error> {
        let terms = self.terms(limit, bodies);
        match (kind, &self.0.doors) {
            (
                OperationKind::Fetch,
                Doors {
                    fetch_executor: Some(door),
                    ..
                },
            ) => Ok(Hook::new(terms, door)),
            (
                _,
                Doors {
                    document_executor: Some(door),
                    ..
                },
            ) => Ok(Hook::new(terms, door)),
            _ => Err(self.lacks(
                "an executor",
                kind,
                &[HookRole::FetchExecutor, HookRole::DocumentExecutor],
            )),
        }
    }

    fn terms(&self, limit: Duration, bodies: Bodies) -> Terms {
        Terms {
            component: self.0.clone(),
            limit,
            bodies,
        }
    }

    fn lacks(&self, place: &str, kind: OperationKind, accepted: &[HookRole]) -> Error {
        let accepted: Vec<_> = accepted
            .iter()
            .copied()
            .filter(|role| role.operation().is_none_or(|operation| operation == kind))
            .collect();
        config(format!(
            "{} cannot be {place} of {kind}: that takes one of the roles {}, it exports {}",
            self.name(),
            surface::list(&accepted),
            surface::list(self.roles())
        ))
    }
}

impl fmt::Debug for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), surface::list(self.roles()))
    }
}

/// Brings an instance up, finds each role in it and checks the types of its functions:
/// wasmtime itself looks at names only until the first call.
fn tried(engine: &Arc<Engine>, name: &str, pre: &InstancePre<State>, roles: &[HookRole]) -> Result<Doors, Error> {
    let _time = engine.keep_time();
    let mut store = session::store(engine, State::new(None, Instant::now() + START));
    let mut doors = Doors::default();
    let end: wasmtime::Result<()> = block_on(async {
        let instance = pre.instantiate_async(&mut store).await?;
        for role in roles {
            macro_rules! found {
                ($door:ident) => {{
                    let indices = roles::$door::GuestIndices::new(pre)?;
                    indices.load(&mut store, &instance)?;
                    doors.$door = Some(indices);
                }};
            }
            match role {
                HookRole::FetchPre => found!(fetch_pre),
                HookRole::FetchPost => found!(fetch_post),
                HookRole::FetchLayer => found!(fetch_layer),
                HookRole::FetchExecutor => found!(fetch_executor),
                HookRole::DocumentPre => found!(document_pre),
                HookRole::DocumentPost => found!(document_post),
                HookRole::DocumentLayer => found!(document_layer),
                HookRole::DocumentExecutor => found!(document_executor),
            }
        }
        Ok(())
    });
    match end {
        Ok(()) => Ok(doors),
        Err(error) if error.is::<wasmtime::Trap>() || store.data().limiter.memory_refused => {
            let failure = trap::failure(&error, store.data(), START);
            Err(config(format!("{name} does not come up: {}", failure.message())))
        }
        Err(error) => Err(config(format!(
            "{name} does not fit the contract: {}",
            trap::shown(&error)
        ))),
    }
}
