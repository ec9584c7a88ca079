//! One isolate: made, run, called, stopped, resumed.

use std::{future::Future, rc::Rc, sync::Arc};

use ::deno_core::{Extension, JsRuntime, ModuleLoader, PollEventLoopOptions, RuntimeOptions, scope, v8};

use crate::{Cause, HARDEN, Limits, Memory, ScriptError, Stop, Terminator, fatal, memory, ops, realm};

/// The native stack, in bytes, of a thread that runs isolates: what scripts may use of it
/// (about 1 MiB), and as much again for the engine and the ops they call. It is address
/// space; only what is used is backed by memory.
pub const THREAD_STACK: usize = 4 << 20;

/// How far the heap may grow once its limit is reached, until script has unwound. V8 ends
/// the process where the next allocation doesn't fit, and one object can have 1 GiB; what
/// is never touched costs address space only.
const LAST_GROWTH: usize = 2 << 30;

/// What an isolate is made of.
#[derive(Default)]
pub struct Options {
    /// What it may hold. The default is 64 MiB of heap and 64 MiB of array buffers.
    pub limits: Limits,
    /// The ops, state and, where there is no snapshot, the JavaScript it starts with.
    pub extensions: Vec<Extension>,
    /// The ops of these extensions and of deno_core that work; all others throw.
    /// [`CORE_OPS`](crate::CORE_OPS) always do.
    pub ops: &'static [&'static str],
    /// A snapshot made with the same extensions in the same order, [`HARDEN`] evaluated.
    pub snapshot: Option<&'static [u8]>,
    /// Who answers imports. `None`: every import fails.
    pub modules: Option<Rc<dyn ModuleLoader>>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            heap: 64 << 20,
            array_buffers: 64 << 20,
        }
    }
}

/// A value inside an isolate. Useless outside the one it comes from.
pub type Value = v8::Global<v8::Value>;

/// A function inside an isolate.
pub type Function = v8::Global<v8::Function>;

/// A V8 isolate with one realm, its event loop and its limits.
///
/// It belongs to the thread it was made on. Two on one thread must be dropped in reverse
/// order of creation.
pub struct Isolate {
    runtime: JsRuntime,
    memory: Arc<Memory>,
    terminator: Terminator,
}

impl Isolate {
    /// Makes an isolate. [`init_platform`](crate::init_platform) must have been called, and
    /// the thread must be inside a tokio runtime that is driven while the isolate is used.
    ///
    /// Errors: the extensions' own code fails, or the snapshot doesn't fit them.
    pub fn new(options: Options) -> Result<Self, Stop> {
        if tokio::runtime::Handle::try_current().is_err() {
            // V8 would end the process at its first delayed task.
            return Err(Stop::Engine("an isolate needs a tokio runtime around it".into()));
        }
        let memory = Memory::new(options.limits.array_buffers);
        let params = v8::CreateParams::default()
            .heap_limits(0, options.limits.heap)
            .allow_atomics_wait(false)
            .array_buffer_allocator(memory::allocator(memory.clone()).make_shared());
        let mut extensions = options.extensions;
        extensions.push(ops::refuse_ops(options.ops));
        let mut runtime = JsRuntime::try_new(RuntimeOptions {
            extensions,
            startup_snapshot: options.snapshot,
            module_loader: options.modules,
            create_params: Some(params),
            ..Default::default()
        })?;
        let terminator = Terminator::new(runtime.v8_isolate().thread_safe_handle());
        fatal::survive(runtime.v8_isolate(), &terminator);
        let out_of_memory = terminator.clone();
        runtime.add_near_heap_limit_callback(move |current, _initial| {
            out_of_memory.terminate(Cause::Memory);
            current.saturating_add(LAST_GROWTH)
        });
        let mut isolate = Self {
            runtime,
            memory,
            terminator,
        };
        if options.snapshot.is_none() {
            isolate.run_script("seam:harden", HARDEN)?;
        }
        isolate.strip()?;
        Ok(isolate)
    }

    fn strip(&mut self) -> Result<(), Stop> {
        scope!(scope, self.runtime);
        if realm::strip(scope) {
            Ok(())
        } else {
            Err(Stop::Engine("a global that must go cannot be removed".into()))
        }
    }

    /// What stops this isolate from anywhere.
    pub fn terminator(&self) -> &Terminator {
        &self.terminator
    }

    /// What it holds outside the heap.
    pub fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// The runtime underneath, for what this type does not offer.
    pub fn runtime(&mut self) -> &mut JsRuntime {
        &mut self.runtime
    }

    /// Runs a classic script and gives its completion value. `name` is what stacks show.
    pub fn run_script(&mut self, name: impl Into<String>, code: impl Into<String>) -> Result<Value, Stop> {
        self.alive()?;
        let end = self.runtime.execute_script(name.into(), code.into());
        self.ended(end)
    }

    /// The function that a classic script has defined under this name at its top level, by
    /// whatever kind of declaration. `None`: there is none, or the name is no identifier.
    pub fn function(&mut self, name: &str) -> Result<Option<Function>, Stop> {
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(word) {
            return Ok(None);
        }
        let value = self.run_script(
            "seam:lookup",
            format!("typeof {name} === 'function' ? {name} : undefined"),
        )?;
        scope!(scope, self.runtime);
        let value = v8::Local::new(scope, value);
        let function = v8::Local::<v8::Function>::try_from(value).ok();
        Ok(function.map(|function| v8::Global::new(scope, function)))
    }

    /// Calls a function and waits, with the event loop running, for the promise it may
    /// return.
    pub async fn call(&mut self, function: &Function, arguments: &[Value]) -> Result<Value, Stop> {
        self.alive()?;
        let mut call = Box::pin(self.runtime.call_with_args(function, arguments));
        let terminator = self.terminator.clone();
        let runtime = &mut self.runtime;
        let work = runtime.with_event_loop_promise(&mut call, PollEventLoopOptions::default());
        unless_stopped(&terminator, work).await
    }

    /// Evaluates an ES module and waits until it and everything it started has settled:
    /// un-awaited operations and timers included. Gives its default export, `undefined`
    /// where it has none.
    pub async fn run_module(&mut self, specifier: &str, code: String) -> Result<Value, Stop> {
        self.alive()?;
        let specifier =
            ::deno_core::ModuleSpecifier::parse(specifier).map_err(|error| Stop::Engine(error.to_string()))?;
        let terminator = self.terminator.clone();
        let runtime = &mut self.runtime;
        let work = async move {
            let id = runtime.load_main_es_module_from_code(&specifier, code).await?;
            let mut evaluated = Box::pin(runtime.mod_evaluate(id));
            runtime.run_event_loop(PollEventLoopOptions::default()).await?;
            evaluated.as_mut().await?;
            runtime.get_module_namespace(id)
        };
        let namespace = unless_stopped(&terminator, work).await?;
        scope!(scope, self.runtime);
        let namespace = v8::Local::new(scope, namespace);
        let export = v8::String::new(scope, "default")
            .filter(|key| namespace.has(scope, (*key).into()).unwrap_or(false))
            .and_then(|key| namespace.get(scope, key.into()))
            .unwrap_or_else(|| v8::undefined(scope).into());
        Ok(v8::Global::new(scope, export))
    }

    /// What a value is once it is settled: of a promise what it was fulfilled with, any other
    /// value itself. Waits for nothing; a promise that is still pending is
    /// [`Stop::Stalled`], a rejected one what it was rejected with.
    pub fn settled(&mut self, value: Value) -> Result<Value, Stop> {
        self.alive()?;
        scope!(scope, self.runtime);
        let local = v8::Local::new(scope, &value);
        let Ok(promise) = v8::Local::<v8::Promise>::try_from(local) else {
            return Ok(value);
        };
        match promise.state() {
            v8::PromiseState::Pending => Err(Stop::Stalled),
            v8::PromiseState::Fulfilled => {
                let result = promise.result(scope);
                Ok(v8::Global::new(scope, result))
            }
            v8::PromiseState::Rejected => {
                let reason = promise.result(scope);
                Err(::deno_core::error::JsError::from_v8_exception(scope, reason).into())
            }
        }
    }

    /// The value of a JSON text, by V8's own parser whatever script has made of `JSON`. Keys
    /// such as `__proto__` become plain own members.
    pub fn parse_json(&mut self, text: &str) -> Result<Value, Stop> {
        self.alive()?;
        let end = {
            scope!(scope, self.runtime);
            v8::tc_scope!(let scope, scope);
            match v8::String::new(scope, text) {
                None => Err(Stop::Engine("the text is longer than a string can be".into())),
                Some(text) => match v8::json::parse(scope, text) {
                    Some(value) => Ok(v8::Global::new(scope, value)),
                    None => Err(caught(scope)),
                },
            }
        };
        self.ended(end)
    }

    /// The JSON text of a value, by V8's own serialiser. As in `JSON.stringify`, `toJSON`
    /// and getters of the value run. `None`: there is no JSON for it (`undefined`, a
    /// function, a symbol). Lone surrogates come out escaped or replaced, never as such.
    pub fn stringify_json(&mut self, value: &Value) -> Result<Option<String>, Stop> {
        self.alive()?;
        let end = {
            scope!(scope, self.runtime);
            v8::tc_scope!(let scope, scope);
            let value = v8::Local::new(scope, value);
            // V8's interface gives the text "undefined" for what has no JSON.
            if value.is_undefined() || value.is_function() || value.is_symbol() {
                Ok(None)
            } else {
                match v8::json::stringify(scope, value) {
                    Some(text) => Ok(Some(text.to_rust_string_lossy(scope))),
                    None => Err(caught(scope)),
                }
            }
        };
        self.ended(end)
    }

    /// After [`Stop::Terminated`]: makes the isolate usable again, its state kept. What was
    /// waiting is not resumed; drop it. Not after [`Cause::Memory`]: the heap stays as full
    /// as it was.
    pub fn resume(&mut self) {
        self.terminator.resume();
        // The withdrawn request may have become visible already; both sides are told.
        self.runtime.v8_isolate().cancel_terminate_execution();
    }

    fn alive(&self) -> Result<(), Stop> {
        self.terminator
            .cause()
            .map_or(Ok(()), |cause| Err(Stop::Terminated(cause)))
    }

    /// A stop outweighs what script seemed to come to: V8 reports it in several ways, one of
    /// them being success.
    fn ended<T>(&self, end: Result<T, impl Into<Stop>>) -> Result<T, Stop> {
        self.alive()?;
        end.map_err(Into::into)
    }
}

/// Waits for script, but not longer than until it is stopped. A guest that waits for
/// something runs no code that V8 could terminate, so the wait itself is given up.
async fn unless_stopped<T, E: Into<Stop>>(
    terminator: &Terminator,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, Stop> {
    let end = tokio::select! {
        biased;
        cause = terminator.stopped() => return Err(Stop::Terminated(cause)),
        end = work => end,
    };
    match terminator.cause() {
        Some(cause) => Err(Stop::Terminated(cause)),
        None => end.map_err(Into::into),
    }
}

/// What a native call threw, as a [`Stop`].
fn caught(scope: &mut v8::PinnedRef<'_, v8::TryCatch<'_, '_, v8::HandleScope<'_>>>) -> Stop {
    let Some(exception) = scope.exception() else {
        return Stop::Engine("it was stopped".into());
    };
    let error = ::deno_core::error::JsError::from_v8_exception(scope, exception);
    Stop::Threw(ScriptError::from(*error))
}
