//! The one wasmtime engine of the process: how guests are compiled, and where they live.

use std::{fmt, path::PathBuf, sync::Arc};

use seam_contract::Error;
use wasmtime::{Config, Enabled, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, component::Linker};

use crate::{
    cache::{Cache, Digest},
    component::Component,
    functions::Functions,
    host,
    limits::{FIBER_STACK, INSTANCES, WASM_STACK},
    state::State,
    surface::{check_bytes, config},
    ticker::{Running, Ticker},
    trap,
};

/// How much of a memory's working set a freed slot keeps, in bytes. Page faults are most of
/// what a fresh instance costs; more than this makes clearing dearer than faulting.
const MEMORY_RESIDENT: usize = 2 << 20;

/// The same for tables.
const TABLE_RESIDENT: usize = 64 << 10;

/// The elements one table may have. Interpreters compiled to components need ten thousand.
const ONE_TABLE: usize = 20_000;

/// Core instances of one component: its module, wit-component's two, adapters.
const CORE_INSTANCES: u32 = 20;

/// What an engine is made with.
#[derive(Clone, Debug, Default)]
pub struct EngineOptions {
    /// Where compiled components are kept from one start to the next. It must belong to this
    /// user alone. `None`: everything is compiled anew at each start.
    pub cache: Option<PathBuf>,
}

/// Compiles components and gives every call its instance. One is enough for a process.
pub struct Engine {
    engine: wasmtime::Engine,
    linker: Linker<State>,
    cache: Option<Cache>,
    functions: Arc<Functions>,
    ticker: Ticker,
}

impl Engine {
    /// An engine.
    ///
    /// Errors (kind `config`): the cache directory is unusable, or the system has no address
    /// space left for the instances.
    pub fn new(options: EngineOptions) -> Result<Arc<Self>, Error> {
        let cache = options.cache.as_deref().map(Cache::open).transpose()?;
        let functions = Arc::new(Functions::default());
        let engine = settings(&functions)
            .and_then(|settings| wasmtime::Engine::new(&settings))
            .map_err(|error| {
                config(format!(
                    "the wasm engine does not start: {}; it reserves address space (not memory) for {INSTANCES} \
                 instances, so look at ulimit -v",
                    trap::shown(&error)
                ))
            })?;
        let linker = host::linker(&engine)
            .map_err(|error| config(format!("the contract does not link: {}", trap::shown(&error))))?;
        let ticker =
            Ticker::start(&engine).map_err(|error| config(format!("the wasm engine gets no thread: {error}")))?;
        Ok(Arc::new(Self {
            engine,
            linker,
            cache,
            functions,
            ticker,
        }))
    }

    /// Makes a component of these bytes: compiled, or taken from the cache, and tried once.
    /// Compiling takes up to some seconds, so this is for start-up and not for a thread that
    /// serves.
    ///
    /// Errors (kind `config`) name what is wrong with it: not a component, an import beyond
    /// the contract, another version of it, no role, more than the limits allow.
    pub fn load(self: &Arc<Self>, name: &str, bytes: &[u8]) -> Result<Component, Error> {
        self.load_made(name, &Digest::of([bytes]), || Ok(bytes.to_vec()))
    }

    /// Like [`Engine::load`] for a component that is itself made, at a price: `make` is only
    /// called if the cache has nothing compiled from `source`, the digest of everything that
    /// goes into the making.
    pub fn load_made(
        self: &Arc<Self>,
        name: &str,
        source: &Digest,
        make: impl FnOnce() -> Result<Vec<u8>, Error>,
    ) -> Result<Component, Error> {
        if let Some(found) = self.cache.as_ref().and_then(|cache| cache.find(&self.engine, source)) {
            return Component::prepare(self, name, &found);
        }
        let bytes = make()?;
        check_bytes(name, &bytes)?;
        let compiled = wasmtime::component::Component::from_binary(&self.engine, &bytes)
            .map_err(|error| config(format!("{name} does not compile: {}", trap::shown(&error))))?;
        let component = Component::prepare(self, name, &compiled)?;
        if let Some(cache) = &self.cache {
            cache.keep(&self.engine, source, &compiled);
        }
        Ok(component)
    }

    /// Gives back the memory that makes loading fast. For the end of start-up: what is loaded
    /// later is compiled from the beginning.
    pub fn loaded_all(&self) {
        self.functions.clear();
    }

    /// How many component instances are alive now: calls under way, parked ones included.
    pub fn alive(&self) -> u64 {
        self.engine
            .pooling_allocator_metrics()
            .map_or(0, |metrics| metrics.component_instances())
    }

    pub(crate) fn wasmtime(&self) -> &wasmtime::Engine {
        &self.engine
    }

    pub(crate) fn linker(&self) -> &Linker<State> {
        &self.linker
    }

    /// Keeps deadlines enforced until the guard is dropped.
    pub(crate) fn keep_time(&self) -> Running {
        self.ticker.run()
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("alive", &self.alive())
            .finish_non_exhaustive()
    }
}

fn settings(functions: &Arc<Functions>) -> wasmtime::Result<Config> {
    let mut config = Config::new();
    config
        // The contract is synchronous for guests. Without it, a call is one plain fiber
        // that a dropped future unwinds.
        .concurrency_support(false)
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK)
        .async_stack_size(FIBER_STACK)
        .cranelift_opt_level(OptLevel::Speed)
        // A verdict depends on the input and the hook, not on the processor.
        .cranelift_nan_canonicalization(true)
        .wasm_relaxed_simd(false)
        // Not needed by any toolchain we know, so not offered to hostile input.
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        // Nothing reads the addresses of a trap.
        .generate_address_map(false)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool()))
        .enable_incremental_compilation(functions.clone())?;
    Ok(config)
}

fn pool() -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(INSTANCES)
        .total_stacks(INSTANCES)
        .total_core_instances(4 * INSTANCES)
        .total_memories(2 * INSTANCES)
        .total_tables(4 * INSTANCES)
        .max_core_instances_per_component(CORE_INSTANCES)
        .table_elements(ONE_TABLE)
        .linear_memory_keep_resident(MEMORY_RESIDENT)
        .table_keep_resident(TABLE_RESIDENT)
        .pagemap_scan(Enabled::Auto);
    pool
}
