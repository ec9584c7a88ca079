//! The guest's side: one thread, one isolate, one script.

use std::{rc::Rc, sync::Arc, time::Instant};

use deno_error::JsErrorBox;
use seam_isolate::{
    Isolate, Limits as IsolateLimits, Options, ScriptError, Stop, THREAD_STACK, Terminator,
    deno_core::{
        Extension, ModuleLoadOptions, ModuleLoadReferrer, ModuleLoadResponse, ModuleLoader, ModuleSpecifier,
        ResolutionKind, scope, v8,
    },
};
use tokio::sync::mpsc;

use crate::{
    Limits, Script,
    console::Console,
    ops::{self, Calls, Guest, Pending},
    outcome::{Ended, Value},
    source,
};

/// What the build script made; see there.
static SNAPSHOT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/guest.snapshot"));

/// Everything a guest is started with.
pub(crate) struct Start {
    pub(crate) script: Script,
    pub(crate) limits: Limits,
    pub(crate) console: Arc<Console>,
    pub(crate) fetch: Option<mpsc::UnboundedSender<Pending>>,
    pub(crate) started: Instant,
}

/// The native stack a guest's thread needs.
pub(crate) fn stack_for(script: &Script) -> usize {
    THREAD_STACK + source::stack_for(&script.code)
}

/// Runs a guest to its end on this thread. `made` gets what stops it, as soon as it can be
/// stopped, and says whether it should start at all.
pub(crate) fn run(start: Start, made: impl FnOnce(&Terminator) -> Result<(), Stop>) -> Ended {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|error| Stop::Engine(format!("no event loop could be made: {error}")))?;
    let source = source::prepare(&start.script).map_err(Stop::Threw)?;
    let _inside = runtime.enter();
    let mut isolate = isolate(start.limits.heap_mb << 20)?;
    made(isolate.terminator())?;
    let inspect = furnish(&mut isolate, &start)?;
    let specifier = start.script.specifier();
    runtime.block_on(async {
        let value = match isolate.run_module(&specifier, source.code).await {
            Ok(value) => value,
            Err(Stop::Threw(error)) => return Err(Stop::Threw(better(error, source.complaint))),
            Err(stop) => return Err(stop),
        };
        // A script that ends in `main()` means what main comes to.
        let value = isolate.settled(value)?;
        result(&mut isolate, &inspect, &value, start.limits.output_bytes).await
    })
}

/// Of two complaints about a text that does not parse, ours knows TypeScript.
fn better(error: ScriptError, complaint: Option<ScriptError>) -> ScriptError {
    match complaint {
        Some(complaint) if error.name == "SyntaxError" => complaint,
        _ => error,
    }
}

/// An isolate that is furnished for nothing, within the default limits.
pub(crate) fn empty() -> Result<Isolate, Stop> {
    isolate(Limits::default().heap_mb << 20)
}

fn isolate(heap: usize) -> Result<Isolate, Stop> {
    Isolate::new(Options {
        limits: IsolateLimits {
            heap,
            array_buffers: heap,
        },
        extensions: vec![
            restored(deno_webidl::deno_webidl::init()),
            restored(deno_web::deno_web::init(
                deno_web::BlobStore::default_arc(),
                None,
                false,
                Default::default(),
            )),
            restored(ops::seam_sandbox::init()),
        ],
        ops: ops::ALLOWED,
        snapshot: Some(SNAPSHOT),
        modules: Some(Rc::new(NoImports)),
    })
}

/// An extension whose scripts are in the snapshot already.
fn restored(mut extension: Extension) -> Extension {
    extension.js_files = Default::default();
    extension.esm_files = Default::default();
    extension.lazy_loaded_esm_files = Default::default();
    extension.lazy_loaded_js_files = Default::default();
    extension.synthetic_esm_modules = Default::default();
    extension.esm_entry_point = None;
    extension
}

/// Gives the realm its host and takes out what is not configured. Returns the console's
/// way to show a value.
fn furnish(isolate: &mut Isolate, start: &Start) -> Result<v8::Global<v8::Function>, Stop> {
    let guest = Rc::new(Guest {
        console: start.console.clone(),
        memory: isolate.memory().clone(),
        started: start.started,
        fetch: start.fetch.clone(),
        calls: Calls::default(),
    });
    let runtime = isolate.runtime();
    runtime.op_state().borrow_mut().put(guest);
    scope!(scope, runtime);
    let global = scope.get_current_context().global(scope);
    let inspect = member(scope, global, "__seam")
        .and_then(|seam| v8::Local::<v8::Object>::try_from(seam).ok())
        .and_then(|seam| member(scope, seam, "inspect"))
        .and_then(|inspect| v8::Local::<v8::Function>::try_from(inspect).ok())
        .map(|inspect| v8::Global::new(scope, inspect));
    let mut absent = vec!["__seam"];
    if start.fetch.is_none() {
        absent.push("fetch");
    }
    for name in absent {
        v8::String::new(scope, name).and_then(|key| global.delete(scope, key.into()));
    }
    inspect.ok_or_else(|| Stop::Engine("the snapshot has no inspect".into()))
}

fn member<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    object: v8::Local<'s, v8::Object>,
    name: &str,
) -> Option<v8::Local<'s, v8::Value>> {
    let key = v8::String::new(scope, name)?;
    object.get(scope, key.into())
}

/// The result as the caller gets it: JSON where JSON can hold it, else as the console shows
/// it, cut at the output limit.
async fn result(
    isolate: &mut Isolate,
    inspect: &v8::Global<v8::Function>,
    value: &v8::Global<v8::Value>,
    limit: usize,
) -> Ended {
    let shape = {
        let runtime = isolate.runtime();
        scope!(scope, runtime);
        let value = v8::Local::new(scope, value);
        shape(scope, value)
    };
    if let Shape::Nothing = shape {
        return Ok(None);
    }
    if let Shape::Json = shape {
        match isolate.stringify_json(value).map(|text| text.map(well_formed)) {
            // An object whose contents JSON doesn't see, such as a Response.
            Ok(Some(text)) if text == "{}" && !is_plain(isolate, value) => {}
            Ok(Some(text)) if text.len() <= limit => return Ok(Some(Value::Json(text))),
            Ok(Some(text)) => return Ok(Some(Value::Text(cut(text, limit)))),
            // No JSON after all: a cycle, a big integer, a `toJSON` that throws.
            Ok(None) | Err(Stop::Threw(_)) => {}
            Err(stop) => return Err(stop),
        }
    }
    let shown = isolate.call(inspect, std::slice::from_ref(value)).await?;
    let runtime = isolate.runtime();
    scope!(scope, runtime);
    let shown = v8::Local::new(scope, shown);
    let text = shown.to_rust_string_lossy(scope);
    Ok(Some(Value::Text(cut(text, limit))))
}

enum Shape {
    Nothing,
    Json,
    Other,
}

/// Whether JSON can tell what a value is. A map or an error would come out as `{}`.
fn shape(scope: &mut v8::PinScope<'_, '_>, value: v8::Local<'_, v8::Value>) -> Shape {
    if value.is_undefined() {
        return Shape::Nothing;
    }
    if value.is_number() {
        let finite = value.number_value(scope).is_some_and(f64::is_finite);
        return if finite { Shape::Json } else { Shape::Other };
    }
    let other = value.is_function()
        || value.is_symbol()
        || value.is_big_int()
        || value.is_map()
        || value.is_set()
        || value.is_weak_map()
        || value.is_weak_set()
        || value.is_native_error()
        || value.is_reg_exp()
        || value.is_promise()
        || value.is_array_buffer()
        || value.is_array_buffer_view();
    if other { Shape::Other } else { Shape::Json }
}

/// Whether this is an object of no class, `{}` for instance.
fn is_plain(isolate: &mut Isolate, value: &v8::Global<v8::Value>) -> bool {
    let runtime = isolate.runtime();
    scope!(scope, runtime);
    let value = v8::Local::new(scope, value);
    v8::Local::<v8::Object>::try_from(value)
        .is_ok_and(|object| object.get_constructor_name().to_rust_string_lossy(scope) == "Object")
}

/// The JSON text with U+FFFD for each half of a character. V8 writes those as escapes, and
/// only those, while most readers of JSON refuse them.
fn well_formed(text: String) -> String {
    if !text.contains("\\ud") {
        return text;
    }
    let mut whole = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find('\\') {
        // An escape of JSON is one ASCII character behind the backslash, or `u` and four.
        let code = rest.as_bytes().get(at + 1..at + 4);
        let (escape, length) = match code {
            Some([b'u', b'd', b'8'..=b'9' | b'a'..=b'f']) => ("\\ufffd", 6),
            _ => (&rest[at..at + 2], 2),
        };
        whole.push_str(&rest[..at]);
        whole.push_str(escape);
        rest = &rest[at + length..];
    }
    whole.push_str(rest);
    whole
}

fn cut(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        let whole = text.len();
        text.truncate(text.floor_char_boundary(limit));
        text.push_str(&format!(
            " [cut here: the result has {whole} bytes, the limit is {limit}]"
        ));
    }
    text
}

/// Answers every import with no.
struct NoImports;

impl ModuleLoader for NoImports {
    fn resolve(&self, specifier: &str, _referrer: &str, kind: ResolutionKind) -> Result<ModuleSpecifier, JsErrorBox> {
        if let ResolutionKind::MainModule = kind {
            return ModuleSpecifier::parse(specifier).map_err(|error| JsErrorBox::type_error(error.to_string()));
        }
        Err(refused(specifier))
    }

    fn load(
        &self,
        specifier: &ModuleSpecifier,
        _referrer: Option<&ModuleLoadReferrer>,
        _options: ModuleLoadOptions,
    ) -> ModuleLoadResponse {
        ModuleLoadResponse::Sync(Err(refused(specifier.as_str())))
    }
}

fn refused(specifier: &str) -> JsErrorBox {
    let shown: String = specifier.chars().take(200).collect();
    JsErrorBox::type_error(format!("cannot import {shown:?}: a script cannot import modules here"))
}
