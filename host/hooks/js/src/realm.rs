//! The isolate of one hook file: evaluated, called, resumed.

use std::{
    collections::HashMap,
    rc::Rc,
    sync::Arc,
    task::{Context, Waker},
};

use deno_core::{PollEventLoopOptions, scope, v8};
use seam_contract::{Error, ErrorKind, Refusal, error::MAX_REASON, json::MAX_TEXT};
use seam_isolate::{Cause, Function, Isolate, Limits, Stop};

use crate::{
    call::{Desk, End},
    console,
    next::{Shared, Unspoken},
    thrown::{Thrown, copied, plain, rendered},
    worker::Source,
};

/// Every name on the global object of a hook file, in order; where V8 was built with
/// Temporal, that too. All of it computes: only `Date`, `Math.random` and `console` have
/// anything to do with the world outside.
#[rustfmt::skip]
pub const GLOBALS: &[&str] = &[
    "AggregateError", "Array", "ArrayBuffer", "AsyncDisposableStack", "Atomics", "BigInt",
    "BigInt64Array", "BigUint64Array", "Boolean", "DataView", "Date", "DisposableStack", "Error",
    "EvalError", "Float16Array", "Float32Array", "Float64Array", "Function", "Infinity",
    "Int16Array", "Int32Array", "Int8Array", "Intl", "Iterator", "JSON", "Map", "Math", "NaN",
    "Number", "Object", "Promise", "Proxy", "RangeError", "ReferenceError", "Reflect", "RegExp",
    "Set", "String", "SuppressedError", "Symbol", "SyntaxError", "TypeError", "URIError",
    "Uint16Array", "Uint32Array", "Uint8Array", "Uint8ClampedArray", "WeakMap", "WeakRef",
    "WeakSet", "console", "decodeURI", "decodeURIComponent", "encodeURI", "encodeURIComponent",
    "escape", "eval", "globalThis", "isFinite", "isNaN", "parseFloat", "parseInt", "queueMicrotask",
    "undefined", "unescape",
];

const PRELUDE: &str = include_str!("prelude.js");

/// Function names that are looked for, besides the properties of the global object, to say
/// what a file has: `const pre = …` makes no property.
const USUAL: [&str; 4] = ["pre", "post", "handle", "execute"];

/// Where a call stands.
pub(crate) enum Progress {
    /// It is over.
    Ended(End),
    /// It waits for this promise.
    Parked(v8::Global<v8::Promise>),
}

/// One file in its isolate.
pub(crate) struct Realm {
    shared: Rc<Shared>,
    /// The functions found so far, by name.
    functions: HashMap<Arc<str>, Function>,
    /// The names there were before the file was evaluated, inherited ones included: they
    /// are no hook functions.
    given: Vec<String>,
    // Last: what refers into it goes first.
    isolate: Isolate,
}

impl Realm {
    /// Makes an isolate and evaluates the file in it. The desk can stop it from the moment
    /// it exists.
    ///
    /// Errors (kind `config`) name file, line and column.
    pub(crate) fn evaluate(source: &Source, desk: &Desk) -> Result<Self, Error> {
        let failed = |what: String| Error::new(ErrorKind::Config, format!("{}: {what}", source.path));
        let isolate = Isolate::new(seam_isolate::Options {
            limits: Limits {
                heap: source.options.heap,
                array_buffers: source.options.array_buffers,
            },
            ..Default::default()
        });
        let isolate = isolate.map_err(|stop| failed(stop.to_string()))?;
        desk.attach(isolate.terminator().clone());
        let limit = isolate.terminator().arm(source.options.load_limit);
        let mut realm = Self {
            shared: Rc::new(Shared::new(source.label.clone())),
            functions: HashMap::new(),
            given: Vec::new(),
            isolate,
        };
        realm.prepare().map_err(|stop| failed(stop.to_string()))?;
        let evaluated = realm.run_file(source);
        drop(limit);
        match realm.stopped() {
            None => {
                evaluated?;
                realm.rest();
                Ok(realm)
            }
            Some(Cause::TimeLimit) => Err(failed(format!(
                "evaluating it took longer than {} ms",
                source.options.load_limit.as_millis()
            ))),
            Some(Cause::Memory) => Err(failed("evaluating it used more memory than its limit".into())),
            Some(Cause::Cancelled) => Err(failed("evaluating it was given up".into())),
        }
    }

    /// Why the isolate was stopped, if it was.
    pub(crate) fn stopped(&self) -> Option<Cause> {
        self.isolate.terminator().cause()
    }

    /// Waits until it is stopped.
    pub(crate) fn stop(&self) -> impl Future<Output = Cause> + use<> {
        let terminator = self.isolate.terminator().clone();
        async move { terminator.stopped().await }
    }

    /// Whether the file has a function of this name.
    ///
    /// Errors (kind `config`): it has none; those it has are listed.
    pub(crate) fn find(&mut self, rule: &Arc<str>) -> Result<(), Error> {
        if self.function(rule).is_some() {
            return Ok(());
        }
        let names = self.function_names();
        let has = if names.is_empty() {
            "it defines no function at its top level".to_owned()
        } else {
            format!("it has {}", names.join(", "))
        };
        Err(Error::new(
            ErrorKind::Config,
            format!("{} has no function named {rule:?}; {has}", self.shared.label),
        ))
    }

    /// Calls a function with these documents, and with `next` where it is a layer.
    pub(crate) fn call(&mut self, rule: &Arc<str>, documents: &[String], is_layer: bool) -> Progress {
        self.shared.begin();
        let Some(function) = self.function(rule) else {
            return ended(Error::hook(format!("has no function named {rule:?} any more")));
        };
        let runtime = self.isolate.runtime();
        scope!(scope, runtime);
        v8::tc_scope!(let scope, scope);
        let mut arguments = Vec::with_capacity(2);
        for text in documents {
            let value = v8::String::new(scope, text).and_then(|text| v8::json::parse(scope, text));
            let Some(value) = value else {
                return ended(Error::hook("its documents do not fit into its isolate"));
            };
            arguments.push(value);
        }
        if is_layer {
            let Some(next) = self.shared.next_function(scope) else {
                return ended(Error::hook("its isolate is being stopped"));
            };
            arguments.push(next.into());
        }
        let function = v8::Local::new(scope, function);
        let this = v8::undefined(scope).into();
        let Some(value) = function.call(scope, this, &arguments) else {
            return Progress::Ended(thrown(scope, &self.shared));
        };
        let progress = match v8::Local::<v8::Promise>::try_from(value) {
            Ok(promise) => {
                scope.perform_microtask_checkpoint();
                look(scope, promise, &self.shared)
            }
            Err(_) => {
                let end = answered(scope, value, &self.shared);
                scope.perform_microtask_checkpoint();
                Progress::Ended(end)
            }
        };
        progress
    }

    /// Settles one `next` of the parked call and runs on.
    pub(crate) fn resume(
        &mut self,
        parked: v8::Global<v8::Promise>,
        id: u64,
        end: Result<String, Refusal>,
    ) -> Progress {
        let runtime = self.isolate.runtime();
        scope!(scope, runtime);
        v8::tc_scope!(let scope, scope);
        self.shared.settle(scope, id, end);
        scope.perform_microtask_checkpoint();
        let promise = v8::Local::new(scope, parked);
        look(scope, promise, &self.shared)
    }

    /// What the parked call has sent down, and whether anything can still wake it.
    pub(crate) fn descents(&self) -> (Vec<(u64, String)>, bool) {
        (self.shared.take_outbox(), self.shared.is_waiting())
    }

    /// The end of a call, once everything it started has run: an answer does not stand
    /// beside a rejection that nobody handled. Lets V8 do its housekeeping, too.
    pub(crate) fn settled(&mut self, end: End) -> End {
        let unhandled = self.turn();
        match (end, unhandled) {
            (End::Nothing | End::Json(_), Err(what)) => End::Failed(Error::hook(format!(
                "left a rejected promise unhandled ({what})"
            ))),
            (end, _) => end,
        }
    }

    /// After a call: nothing of it is left to run. False: the isolate is used up.
    pub(crate) fn rest(&mut self) -> bool {
        self.shared.end();
        match self.stopped() {
            None => true,
            Some(Cause::Memory) => false,
            Some(Cause::TimeLimit | Cause::Cancelled) => {
                // What script had queued is thrown away: V8 empties its queue when it is
                // told to stop at its first entry.
                let isolate = self.isolate.runtime().v8_isolate();
                isolate.terminate_execution();
                isolate.perform_microtask_checkpoint();
                self.isolate.resume();
                // Rejections of the dead call are nobody's any more.
                let _ = self.turn();
                self.stopped().is_none()
            }
        }
    }

    /// The function of this name, looked up once.
    fn function(&mut self, rule: &Arc<str>) -> Option<Function> {
        if let Some(function) = self.functions.get(rule) {
            return Some(function.clone());
        }
        if self.given.iter().any(|name| **name == **rule) {
            return None;
        }
        let function = self.isolate.function(rule).ok()??;
        self.functions.insert(rule.clone(), function.clone());
        Some(function)
    }

    /// One turn of the event loop. Err: a rejection was not handled.
    fn turn(&mut self) -> Result<(), String> {
        let mut cx = Context::from_waker(Waker::noop());
        match self.isolate.runtime().poll_event_loop(&mut cx, PollEventLoopOptions::default()) {
            std::task::Poll::Ready(Err(error)) => {
                let text = Stop::from(error).to_string();
                Err(plain(&text).chars().take(MAX_REASON).collect())
            }
            _ => Ok(()),
        }
    }

    /// Makes the realm what a hook file finds.
    fn prepare(&mut self) -> Result<(), Stop> {
        let prelude = self.isolate.run_script("seam:prelude", PRELUDE)?;
        let shared = self.shared.clone();
        let runtime = self.isolate.runtime();
        let isolate = runtime.v8_isolate();
        isolate.set_slot(shared.clone());
        isolate.set_host_import_module_dynamically_callback(refuse_import);
        isolate.set_host_import_module_with_phase_dynamically_callback(refuse_import_phase);
        scope!(scope, runtime);
        let unusable = || Stop::Engine("the prelude of hooks does not fit this engine".into());
        let prelude = v8::Local::new(scope, prelude);
        let prelude = v8::Local::<v8::Function>::try_from(prelude).map_err(|_| unusable())?;
        let log = v8::Function::new(scope, console::log).ok_or_else(unusable)?;
        let this = v8::undefined(scope).into();
        let encode = prelude.call(scope, this, &[log.into()]).ok_or_else(unusable)?;
        let encode = v8::Local::<v8::Function>::try_from(encode).map_err(|_| unusable())?;
        let encode = v8::Global::new(scope, encode);
        shared.encode.set(encode).map_err(|_| unusable())?;
        scope.get_current_context().set_allow_generation_from_strings(false);
        let global = scope.get_current_context().global(scope);
        self.given = names_of(scope, global, v8::KeyCollectionMode::IncludePrototypes);
        Ok(())
    }

    /// Compiles and runs the file as a classic script.
    fn run_file(&mut self, source: &Source) -> Result<(), Error> {
        self.shared.begin();
        {
            let runtime = self.isolate.runtime();
            scope!(scope, runtime);
            v8::tc_scope!(let scope, scope);
            let ran = compiled(scope, source).and_then(|script| script.run(scope));
            if ran.is_none() {
                let place = scope.message().map(|message| position(scope, message)).unwrap_or_default();
                let what = match scope.exception() {
                    Some(exception) => rendered(scope, exception),
                    None => "it is too large for its isolate".to_owned(),
                };
                let hint = hint(&what);
                let text = format!("{}{place}: {what}{hint}", source.path);
                return Err(Error::new(ErrorKind::Config, text));
            }
            scope.perform_microtask_checkpoint();
        }
        self.turn().map_err(|what| {
            let text = format!("{}: left a rejected promise unhandled ({what})", source.path);
            Error::new(ErrorKind::Config, text)
        })
    }

    /// The functions that the file has defined, as far as they can be told.
    fn function_names(&mut self) -> Vec<String> {
        let mut names: Vec<String> = {
            let runtime = self.isolate.runtime();
            scope!(scope, runtime);
            let global = scope.get_current_context().global(scope);
            names_of(scope, global, v8::KeyCollectionMode::OwnOnly)
        };
        names.retain(|name| !self.given.contains(name));
        names.extend(USUAL.map(str::to_owned));
        names.sort();
        names.dedup();
        names.retain(|name| matches!(self.isolate.function(name), Ok(Some(_))));
        names
    }
}

/// What a promise has come to.
fn look(
    scope: &mut v8::PinnedRef<'_, v8::TryCatch<'_, '_, v8::HandleScope<'_>>>,
    promise: v8::Local<'_, v8::Promise>,
    shared: &Shared,
) -> Progress {
    match promise.state() {
        v8::PromiseState::Pending => Progress::Parked(v8::Global::new(scope, promise)),
        v8::PromiseState::Fulfilled => {
            let value = promise.result(scope);
            Progress::Ended(answered(scope, value, shared))
        }
        v8::PromiseState::Rejected => {
            let exception = promise.result(scope);
            Progress::Ended(End::Threw(Thrown::read(scope, exception, shared)))
        }
    }
}

/// An answer, as JSON text.
fn answered(
    scope: &mut v8::PinnedRef<'_, v8::TryCatch<'_, '_, v8::HandleScope<'_>>>,
    value: v8::Local<'_, v8::Value>,
    shared: &Shared,
) -> End {
    if value.is_null_or_undefined() {
        return End::Nothing;
    }
    if value.is_boolean() {
        return End::Json(value.is_true().to_string());
    }
    match shared.encode(scope, value) {
        Ok(text) => End::Json(text),
        Err(Unspoken::TooLong) => End::Failed(Error::hook(format!("answered with more than {MAX_TEXT} bytes"))),
        Err(Unspoken::Threw) => {
            let what = match scope.exception() {
                Some(exception) => rendered(scope, exception),
                None => "it was stopped".to_owned(),
            };
            End::Failed(Error::hook(format!("answered with what JSON cannot hold ({what})")))
        }
    }
}

/// What a call of a function threw.
fn thrown(scope: &mut v8::PinnedRef<'_, v8::TryCatch<'_, '_, v8::HandleScope<'_>>>, shared: &Shared) -> End {
    let Some(exception) = scope.exception().filter(|_| !scope.has_terminated()) else {
        return End::Failed(Error::hook("was stopped"));
    };
    scope.reset();
    End::Threw(Thrown::read(scope, exception, shared))
}

fn ended(error: Error) -> Progress {
    Progress::Ended(End::Failed(error))
}

fn compiled<'s>(scope: &mut v8::PinScope<'s, '_>, source: &Source) -> Option<v8::Local<'s, v8::Script>> {
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(&source.text);
    let text = v8::String::new(scope, text)?;
    let name = v8::String::new(scope, &source.label)?;
    let origin = v8::ScriptOrigin::new(scope, name.into(), 0, 0, false, 0, None, false, false, false, None);
    v8::Script::compile(scope, text, Some(&origin))
}

/// `:line:column` of an error, both from one.
fn position(scope: &mut v8::PinScope<'_, '_>, message: v8::Local<'_, v8::Message>) -> String {
    match message.get_line_number(scope) {
        Some(line) => format!(":{line}:{}", message.get_start_column() + 1),
        None => String::new(),
    }
}

/// What to do about a mistake that many will make.
fn hint(what: &str) -> &'static str {
    let is_module = what.starts_with("SyntaxError")
        && (what.contains("'export'") || what.contains("import statement") || what.contains("await is only valid"));
    if is_module {
        "; a hook file is a plain script: define its functions at the top level, without import, export and top-level await"
    } else {
        ""
    }
}

/// The names of an object's properties, enumerable or not.
fn names_of(
    scope: &mut v8::PinScope<'_, '_>,
    object: v8::Local<'_, v8::Object>,
    mode: v8::KeyCollectionMode,
) -> Vec<String> {
    let arguments = v8::GetPropertyNamesArgs {
        mode,
        property_filter: v8::PropertyFilter::SKIP_SYMBOLS,
        ..Default::default()
    };
    let Some(names) = object.get_property_names(scope, arguments) else {
        return Vec::new();
    };
    let names = (0..names.length()).filter_map(|at| {
        let name = v8::Local::<v8::String>::try_from(names.get_index(scope, at)?).ok()?;
        Some(copied(scope, name, MAX_REASON))
    });
    names.collect()
}

fn refuse_import<'s, 'i>(
    scope: &mut v8::PinScope<'s, 'i>,
    _options: v8::Local<'s, v8::Data>,
    _resource: v8::Local<'s, v8::Value>,
    _specifier: v8::Local<'s, v8::String>,
    _attributes: v8::Local<'s, v8::FixedArray>,
) -> Option<v8::Local<'s, v8::Promise>> {
    let resolver = v8::PromiseResolver::new(scope)?;
    let message = v8::String::new(scope, "import is not available in a hook")?;
    let error = v8::Exception::type_error(scope, message);
    resolver.reject(scope, error);
    Some(resolver.get_promise(scope))
}

fn refuse_import_phase<'s, 'i>(
    scope: &mut v8::PinScope<'s, 'i>,
    options: v8::Local<'s, v8::Data>,
    resource: v8::Local<'s, v8::Value>,
    specifier: v8::Local<'s, v8::String>,
    _phase: v8::ModuleImportPhase,
    attributes: v8::Local<'s, v8::FixedArray>,
) -> Option<v8::Local<'s, v8::Promise>> {
    refuse_import(scope, options, resource, specifier, attributes)
}
