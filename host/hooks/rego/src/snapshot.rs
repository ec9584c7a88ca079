//! From the Rego component and a policy to a component that has the policy in its memory.
//!
//! An instrumented copy of the component is run once: it loads the policy, and what is in
//! its memory then becomes the initial memory of the result (wasmtime's Wizer). That run has
//! an engine of its own: compiled fast and not well, without a pool, with room for the reader.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use futures::executor::block_on;
use seam_hook_wasm::GUEST_MEMORY;
use wasmtime::{
    Config, Engine, OptLevel, Store, StoreLimits, StoreLimitsBuilder, Trap,
    component::{Component, ComponentNamedList, Instance, Lift, Linker, Lower, TypedFunc, WasmList},
};
use wasmtime_wizer::{ComponentInstanceState, Wizer};

use crate::SETUP;

/// How long loading a policy may take in the guest. It evaluates the rule once, so a rule
/// without an end shows here.
const LOADING: Duration = Duration::from_secs(60);

/// Memory for the run beyond what a call has: the reader takes a few pages.
const READER: usize = 1 << 20;

/// What is put into the component.
pub(crate) struct Setup<'a> {
    pub(crate) files: &'a [(String, String)],
    pub(crate) rule: &'a str,
    pub(crate) warm_up: &'a str,
}

/// Why there is no snapshot.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The policy is at fault; the component's own words.
    Policy(String),
    /// Loading it took too long or too much.
    Limit(String),
    /// The component is at fault.
    Component(wasmtime::Error),
    /// The snapshotting itself is: a defect.
    Defect,
}

/// The component made ready to be run and read. Cheap to clone; compiling it takes seconds,
/// which is why it is kept from one policy to the next.
#[derive(Clone)]
pub(crate) struct Loader {
    engine: Engine,
    instrumented: Component,
}

impl Loader {
    /// Instruments and compiles the component.
    pub(crate) fn new(component: &[u8]) -> Result<Self, Failure> {
        guarded(|| {
            let (_, instrumented) = Wizer::new().instrument_component(component)?;
            let engine = Engine::new(&settings())?;
            Ok(Self {
                instrumented: Component::from_binary(&engine, &instrumented)?,
                engine,
            })
        })
    }

    /// Loads a policy into the component and gives the component that has it loaded.
    pub(crate) fn snapshot(&self, component: &[u8], setup: &Setup<'_>) -> Result<Vec<u8>, Failure> {
        guarded(|| {
            let mut running = Running::start(&self.engine, &self.instrumented)?;
            running.load(&self.engine, setup)?;
            let wizer = Wizer::new();
            let (context, _) = wizer.instrument_component(component)?;
            let snapshot = block_on(wizer.snapshot_component(&context, &mut running))?;
            match running.unread {
                Some(error) => Err(error.into()),
                None => Ok(snapshot),
            }
        })
    }
}

/// Wizer panics where a component is not as it expects.
fn guarded<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Failure::Defect))
}

fn settings() -> Config {
    let mut config = Config::new();
    config
        .concurrency_support(false)
        .epoch_interruption(true)
        .max_wasm_stack(1 << 20)
        .cranelift_opt_level(OptLevel::None)
        .generate_address_map(false);
    config
}

/// The instrumented component at work.
struct Running {
    store: Store<StoreLimits>,
    instance: Instance,
    /// Why something could not be read: Wizer's trait has no place for it.
    unread: Option<wasmtime::Error>,
}

impl Running {
    fn start(engine: &Engine, component: &Component) -> wasmtime::Result<Self> {
        let mut linker = Linker::new(engine);
        // Loading a policy has no call to look at: the contract is not there.
        linker.define_unknown_imports_as_traps(component)?;
        let limits = StoreLimitsBuilder::new().memory_size(GUEST_MEMORY + READER).build();
        let mut store = Store::new(engine, limits);
        store.limiter(|limits| limits);
        store.set_epoch_deadline(1);
        // The memory is read as one list.
        store.set_hostcall_fuel(2 * GUEST_MEMORY);
        let instance = linker.instantiate(&mut store, component)?;
        Ok(Self {
            store,
            instance,
            unread: None,
        })
    }

    /// Calls `setup.load`, for at most [`LOADING`].
    fn load(&mut self, engine: &Engine, setup: &Setup<'_>) -> Result<(), Failure> {
        let load = self.function::<(&[(String, String)], &str, &str), (Result<(), String>,)>(SETUP, "load")?;
        let loaded = thread::scope(|scope| {
            let (done, waiting) = mpsc::channel::<()>();
            scope.spawn(move || {
                if waiting.recv_timeout(LOADING) == Err(RecvTimeoutError::Timeout) {
                    engine.increment_epoch();
                }
            });
            let loaded = load.call(&mut self.store, (setup.files, setup.rule, setup.warm_up));
            drop(done);
            loaded
        });
        match loaded {
            Ok((loaded,)) => loaded.map_err(Failure::Policy),
            Err(error) => Err(match error.downcast_ref::<Trap>() {
                Some(Trap::Interrupt) => Failure::Limit(format!("takes more than {} s", LOADING.as_secs())),
                Some(_) => Failure::Limit(format!(
                    "ends the engine, which may take {} MiB: {error}",
                    GUEST_MEMORY >> 20
                )),
                None => Failure::Component(error),
            }),
        }
    }

    fn function<P, R>(&mut self, interface: &str, name: &str) -> wasmtime::Result<TypedFunc<P, R>>
    where
        P: ComponentNamedList + Lower,
        R: ComponentNamedList + Lift,
    {
        let interface = self.instance.get_export_index(&mut self.store, None, interface);
        let function = interface
            .and_then(|interface| self.instance.get_export_index(&mut self.store, Some(&interface), name))
            .ok_or_else(|| wasmtime::format_err!("it exports no function {name} where one is expected"))?;
        self.instance.get_typed_func(&mut self.store, function)
    }

    /// Calls one of Wizer's functions. Where that fails, so will the snapshot, later.
    fn read<R: Lift + Default + 'static>(&mut self, interface: &str, name: &str) -> R {
        let value = self
            .function::<(), (R,)>(interface, name)
            .and_then(|function| function.call(&mut self.store, ()));
        match value {
            Ok((value,)) => value,
            Err(error) => {
                self.unread.get_or_insert(error);
                R::default()
            }
        }
    }
}

impl ComponentInstanceState for Running {
    async fn call_func_ret_list_u8(&mut self, interface: &str, name: &str, contents: impl FnOnce(&[u8]) + Send) {
        let list = self
            .function::<(), (WasmList<u8>,)>(interface, name)
            .and_then(|function| function.call(&mut self.store, ()));
        match list {
            Ok((list,)) => contents(list.as_le_slice(&self.store)),
            Err(error) => {
                self.unread.get_or_insert(error);
                contents(&[]);
            }
        }
    }

    async fn call_func_ret_s32(&mut self, interface: &str, name: &str) -> i32 {
        self.read(interface, name)
    }

    async fn call_func_ret_s64(&mut self, interface: &str, name: &str) -> i64 {
        self.read(interface, name)
    }

    async fn call_func_ret_f32(&mut self, interface: &str, name: &str) -> u32 {
        self.read::<f32>(interface, name).to_bits()
    }

    async fn call_func_ret_f64(&mut self, interface: &str, name: &str) -> u64 {
        self.read::<f64>(interface, name).to_bits()
    }
}

impl From<wasmtime::Error> for Failure {
    fn from(error: wasmtime::Error) -> Self {
        Self::Component(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(text) => f.write_str(text),
            Self::Limit(text) => write!(f, "loading the policy {text}"),
            Self::Component(error) => write!(
                f,
                "the rego component cannot take a policy: {error:#}; build it anew with cargo xtask guests"
            ),
            Self::Defect => f.write_str("the policy could not be snapshotted; this is a defect, please report it"),
        }
    }
}
