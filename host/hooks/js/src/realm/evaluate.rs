//! Evaluating a hook file in a realm of its own, and finding its functions.

use std::{collections::HashMap, rc::Rc, sync::Arc, time::Duration};

use deno_core::{scope, v8};
use seam_contract::{Error, ErrorKind, error::MAX_REASON};
use seam_isolate::{Cause, Isolate, Limits, Stop};

use crate::{
    call::Desk,
    console,
    next::Shared,
    realm::Realm,
    thrown::{copied, rendered},
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

/// How long finding a function may take. Nothing runs, unless the file wants it so.
const FIND_LIMIT: Duration = Duration::from_secs(1);

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

    /// Whether the file has a function of this name.
    ///
    /// Errors (kind `config`): it has none; those it has are listed.
    pub(crate) fn find(&mut self, rule: &Arc<str>) -> Result<(), Error> {
        // A lookup runs script where the file has put a getter there.
        let limit = self.isolate.terminator().arm(FIND_LIMIT);
        let found = self.function(rule).is_some();
        let names = if found { Vec::new() } else { self.function_names() };
        drop(limit);
        if self.stopped().is_some() {
            return Err(Error::new(
                ErrorKind::Config,
                format!("{}: looking for the function {rule:?} took too long", self.shared.label),
            ));
        }
        if found {
            return Ok(());
        }
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

    /// Makes the realm what a hook file finds.
    fn prepare(&mut self) -> Result<(), Stop> {
        let prelude = self.isolate.run_script("seam:prelude", PRELUDE)?;
        let shared = self.shared.clone();
        let runtime = self.isolate.runtime();
        let isolate = runtime.v8_isolate();
        isolate.set_slot(shared.clone());
        // Every kind of dynamic import comes to this one.
        isolate.set_host_import_module_with_phase_dynamically_callback(refuse_import);
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
                let place = scope
                    .message()
                    .map(|message| position(scope, message))
                    .unwrap_or_default();
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
    _phase: v8::ModuleImportPhase,
    _attributes: v8::Local<'s, v8::FixedArray>,
) -> Option<v8::Local<'s, v8::Promise>> {
    let resolver = v8::PromiseResolver::new(scope)?;
    let message = v8::String::new(scope, "import is not available in a hook")?;
    let error = v8::Exception::type_error(scope, message);
    resolver.reject(scope, error);
    Some(resolver.get_promise(scope))
}
