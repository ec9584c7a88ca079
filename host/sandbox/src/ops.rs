//! The native functions of a guest: its only way out, and a few that lead nowhere.
//!
//! Every one of them is reachable by hostile code with any arguments, in any order: they
//! validate natively, hold nothing unbounded, and never panic. What a guest has done to
//! its built-ins is of no account here, because arguments are read once into Rust values
//! and an operation is made of those.
//!
//! The build script compiles this file too, to make the snapshot with the same ops.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
    sync::Arc,
    time::Instant,
};

use bytes::Bytes;
use deno_error::JsErrorBox;
use seam_contract::{
    Operation, Output, Refusal,
    error::ErrorKind,
    fetch::{Request, Response},
    headers::Headers,
};
use seam_isolate::{
    Memory, array_buffer,
    deno_core::{self, OpState, ToV8, extension, op2, v8},
};
use tokio::sync::{Notify, Semaphore, mpsc, oneshot};

use crate::console::{Console, Level, Room};

/// How many operations of one execution are under way at once; more wait their turn. Each
/// holds a connection and, in every layer, an instance.
pub(crate) const MAX_RUNNING: usize = 64;

/// How many operations of one execution may be started and not yet settled. Beyond this a
/// script has lost count; each one costs the host some memory.
pub(crate) const MAX_STARTED: usize = 4096;

extension!(
    seam_sandbox,
    deps = [deno_webidl, deno_web],
    ops = [
        op_seam_abort,
        op_seam_console,
        op_seam_encode,
        op_seam_fetch,
        op_seam_now,
        op_seam_random,
        op_seam_ticket,
    ],
    js = [
        dir "src/js",
        "base.js",
        "blob.js",
        "headers.js",
        "form_data.js",
        "body.js",
        "request.js",
        "response.js",
        "fetch.js",
        "clone.js",
        "console.js",
        "globals.js",
    ],
    middleware = |op| match op.name {
        // deno_core's own allocates past the limit of array buffers.
        "op_encode" => op.with_implementation_from(&op_seam_encode()),
        _ => op,
    },
);

/// The ops that work in a guest, beside those every isolate has.
pub(crate) const ALLOWED: &[&str] = &[
    // Ours.
    "op_seam_abort",
    "op_seam_console",
    "op_seam_encode",
    "op_seam_fetch",
    "op_seam_now",
    "op_seam_random",
    "op_seam_ticket",
    // Conversions and looks at values, for the web platform's scripts and the console.
    "op_base64_atob",
    "op_base64_btoa",
    "op_decode",
    "op_destructure_error",
    "op_encode",
    "op_encoding_decode",
    "op_encoding_decode_single",
    "op_encoding_decode_utf8",
    "op_encoding_decode_utf8_ascii_only",
    "op_encoding_encode_into",
    "op_encoding_encode_into_fallback",
    "op_encoding_new_decoder",
    "op_encoding_normalize_label",
    "op_get_promise_details",
    "op_get_proxy_details",
    "op_is_any_array_buffer",
    "op_is_array_buffer",
    "op_is_array_buffer_view",
    "op_is_async_function",
    "op_is_big_int_object",
    "op_is_boolean_object",
    "op_is_boxed_primitive",
    "op_is_date",
    "op_is_map",
    "op_is_native_error",
    "op_is_number_object",
    "op_is_promise",
    "op_is_proxy",
    "op_is_reg_exp",
    "op_is_set",
    "op_is_shared_array_buffer",
    "op_is_string_object",
    "op_is_typed_array",
    "op_is_weak_map",
    "op_is_weak_set",
    "op_url_get_serialization",
    "op_url_parse",
    "op_url_parse_search_params",
    "op_url_parse_with_base",
    "op_url_reparse",
    "op_url_stringify_search_params",
    "op_urlpattern_parse",
    "op_urlpattern_process_match_input",
    // Timers of AbortSignal.timeout: whether one keeps the script alive.
    "op_ref_op",
    "op_unref_op",
];

/// One operation on its way to the host.
pub(crate) struct Pending {
    /// What shall happen.
    pub(crate) operation: Operation,
    /// Where the end goes. Closed once nobody waits for it any more.
    pub(crate) reply: oneshot::Sender<Result<Output, Refusal>>,
}

/// The host's side of a guest, in the isolate's op state.
pub(crate) struct Guest {
    pub(crate) console: Arc<Console>,
    pub(crate) memory: Arc<Memory>,
    pub(crate) started: Instant,
    /// Where `fetch` leads; `None` where there is no fetch.
    pub(crate) fetch: Option<mpsc::UnboundedSender<Pending>>,
    pub(crate) calls: Calls,
}

/// The operations of a guest that have not settled.
pub(crate) struct Calls {
    next: Cell<u32>,
    aborts: RefCell<HashMap<u32, Rc<Notify>>>,
    running: Semaphore,
}

impl Default for Calls {
    fn default() -> Self {
        Self {
            next: Cell::new(0),
            aborts: RefCell::default(),
            running: Semaphore::new(MAX_RUNNING),
        }
    }
}

/// A place among the calls, given up when dropped.
struct Call {
    guest: Rc<Guest>,
    ticket: u32,
    aborted: Rc<Notify>,
}

impl Call {
    fn begin(guest: Rc<Guest>, ticket: u32) -> Result<Self, JsErrorBox> {
        let aborted = Rc::new(Notify::new());
        let mut aborts = guest.calls.aborts.borrow_mut();
        if aborts.len() >= MAX_STARTED {
            return Err(JsErrorBox::type_error(format!(
                "fetch failed (more than {MAX_STARTED} operations are waiting; await some first)"
            )));
        }
        if aborts.contains_key(&ticket) {
            return Err(JsErrorBox::type_error("fetch failed (this ticket is in use)"));
        }
        aborts.insert(ticket, aborted.clone());
        drop(aborts);
        Ok(Self { guest, ticket, aborted })
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.guest.calls.aborts.borrow_mut().remove(&self.ticket);
    }
}

fn guest(state: &OpState) -> Result<Rc<Guest>, JsErrorBox> {
    let guest = state.try_borrow::<Rc<Guest>>().cloned();
    guest.ok_or_else(|| JsErrorBox::type_error("this function is not available here"))
}

/// A number for the next operation, by which it can be aborted.
#[op2(fast)]
#[smi]
fn op_seam_ticket(state: &mut OpState) -> Result<u32, JsErrorBox> {
    let guest = guest(state)?;
    let ticket = guest.calls.next.get();
    // Kept below 2^30, so that it stays a small integer in V8.
    guest.calls.next.set((ticket + 1) & 0x3fff_ffff);
    Ok(ticket)
}

/// Gives up the operation with this ticket, if it is under way.
#[op2(fast)]
fn op_seam_abort(state: &mut OpState, #[smi] ticket: u32) -> Result<(), JsErrorBox> {
    if let Some(aborted) = guest(state)?.calls.aborts.borrow().get(&ticket) {
        aborted.notify_one();
    }
    Ok(())
}

/// Sends one request through the stack. `headers` are names and values by turns.
#[op2]
async fn op_seam_fetch(
    state: Rc<RefCell<OpState>>,
    #[smi] ticket: u32,
    #[string] method: String,
    #[string] url: String,
    #[serde] headers: Vec<String>,
    #[buffer(copy)] body: Option<Bytes>,
) -> Result<Answer, JsErrorBox> {
    let guest = guest(&state.borrow())?;
    let Some(way_out) = guest.fetch.clone() else {
        return Err(JsErrorBox::type_error("fetch is not available here"));
    };
    let call = Call::begin(guest.clone(), ticket)?;
    let held = body.as_ref().map_or(0, Bytes::len);
    let Some(_held) = guest.memory.reserve(held) else {
        return Err(JsErrorBox::range_error("there is no memory left for the body"));
    };
    let request = match request(&method, &url, &headers, body) {
        Ok(request) => request,
        Err(error) => {
            return Ok(Answer::Refused(Refused {
                message: format!("fetch failed ({})", error.message()),
                refusal: error.into(),
            }));
        }
    };
    let target = request.target();
    let refused = |refusal: Refusal| {
        Answer::Refused(Refused {
            message: refusal.message("fetch", &target),
            refusal,
        })
    };
    let way = async {
        let _turn = guest.calls.running.acquire().await.ok()?;
        let (reply, end) = oneshot::channel();
        let operation = Operation::Fetch(request);
        way_out.send(Pending { operation, reply }).ok()?;
        end.await.ok()
    };
    let end = tokio::select! {
        biased;
        () = call.aborted.notified() => Some(Err(cancelled("the script aborted it"))),
        end = way => end,
    };
    Ok(match end {
        Some(Ok(Output::Fetch(response))) => Answer::Response {
            response,
            memory: guest.memory.clone(),
        },
        Some(Err(refusal)) => refused(refusal),
        None => refused(cancelled("the execution is ending")),
    })
}

fn request(method: &str, url: &str, headers: &[String], body: Option<Bytes>) -> Result<Request, seam_contract::Error> {
    let (pairs, _) = headers.as_chunks::<2>();
    let headers = Headers::new(pairs.iter().map(|[name, value]| (name, value)))?;
    Request::new(method, url, headers, body)
}

fn cancelled(why: &str) -> Refusal {
    seam_contract::Error::new(ErrorKind::Cancelled, why).into()
}

/// What `fetch` gets back.
enum Answer {
    Response { response: Response, memory: Arc<Memory> },
    Refused(Refused),
}

/// A refusal as the script is told of it.
struct Refused {
    message: String,
    refusal: Refusal,
}

impl<'s> ToV8<'s> for Answer {
    type Error = JsErrorBox;

    /// An object without prototype, so that no setter or `then` of a guest is met.
    fn to_v8<'i>(self, scope: &mut v8::PinScope<'s, 'i>) -> Result<v8::Local<'s, v8::Value>, JsErrorBox> {
        match self {
            Self::Response { response, memory } => {
                let headers = response.headers().iter().flat_map(|(name, value)| [name, value]);
                let headers = headers
                    .map(|text| string(scope, text).map(Into::into))
                    .collect::<Result<Vec<v8::Local<v8::Value>>, _>>()?;
                let headers = v8::Array::new_with_elements(scope, &headers);
                let bytes = response.body().clone();
                let members: [(&str, v8::Local<v8::Value>); 6] = [
                    (
                        "status",
                        v8::Integer::new_from_unsigned(scope, response.status().into()).into(),
                    ),
                    ("statusText", string(scope, response.status_text())?.into()),
                    ("url", string(scope, response.url().as_str())?.into()),
                    ("redirected", v8::Boolean::new(scope, response.redirected()).into()),
                    ("headers", headers.into()),
                    ("body", {
                        // Only the last holder's bytes are taken over; otherwise they are
                        // copied, because a guest may write into its buffer.
                        drop(response);
                        let Some(buffer) = array_buffer(scope, &memory, Vec::from(bytes)) else {
                            return Err(JsErrorBox::range_error("there is no memory left for the answer"));
                        };
                        buffer.into()
                    }),
                ];
                object(scope, &members)
            }
            Self::Refused(Refused { message, refusal }) => {
                let reason = match refusal.reason() {
                    Some(reason) => string(scope, reason)?.into(),
                    None => v8::null(scope).into(),
                };
                let members = [
                    ("message", string(scope, &message)?.into()),
                    ("kind", string(scope, refusal.kind_name())?.into()),
                    ("by", string(scope, &refusal.by().to_string())?.into()),
                    ("reason", reason),
                ];
                let refusal = object(scope, &members)?;
                object(scope, &[("refusal", refusal)])
            }
        }
    }
}

fn string<'s>(scope: &mut v8::PinScope<'s, '_>, text: &str) -> Result<v8::Local<'s, v8::String>, JsErrorBox> {
    v8::String::new(scope, text).ok_or_else(|| JsErrorBox::range_error("a text is longer than a string can be"))
}

fn object<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    members: &[(&str, v8::Local<'s, v8::Value>)],
) -> Result<v8::Local<'s, v8::Value>, JsErrorBox> {
    let mut names = Vec::with_capacity(members.len());
    let mut values = Vec::with_capacity(members.len());
    for (name, value) in members {
        names.push(string(scope, name)?.into());
        values.push(*value);
    }
    let null = v8::null(scope).into();
    Ok(v8::Object::with_prototype_and_properties(scope, null, &names, &values).into())
}

/// Prints one line. Says whether the console is full, so that the script stops formatting.
#[op2(nofast)]
fn op_seam_console(
    scope: &mut v8::PinScope<'_, '_>,
    state: &mut OpState,
    #[smi] level: u32,
    text: v8::Local<'_, v8::Value>,
) -> Result<bool, JsErrorBox> {
    let guest = guest(state)?;
    let text = v8::Local::<v8::String>::try_from(text)
        .map_err(|_| JsErrorBox::type_error("a line of the console is a string"))?;
    // Only what is kept is copied out of V8, however long the text is.
    let whole = text.utf8_length(scope);
    let mut kept = vec![0; whole.min(guest.console.room())];
    let written = text.write_utf8_v2(scope, &mut kept, v8::WriteFlags::kReplaceInvalidUtf8, None);
    kept.truncate(written);
    let kept = String::from_utf8_lossy(&kept).into_owned();
    let room = guest.console.print(Level::from_number(level), kept, whole);
    Ok(room == Room::Full)
}

/// The UTF-8 of a text, in a buffer that counts.
#[op2]
fn op_seam_encode<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: &mut OpState,
    text: v8::Local<'_, v8::Value>,
) -> Result<v8::Local<'s, v8::Uint8Array>, JsErrorBox> {
    let guest = guest(state)?;
    let text =
        v8::Local::<v8::String>::try_from(text).map_err(|_| JsErrorBox::type_error("only a string can be encoded"))?;
    let none_left = || JsErrorBox::range_error("there is no memory left for the encoded text");
    let length = text.utf8_length(scope);
    if guest.memory.reserve(length).is_none() {
        scope.low_memory_notification();
        drop(guest.memory.reserve(length).ok_or_else(none_left)?);
    }
    let mut bytes = vec![0; length];
    let written = text.write_utf8_v2(scope, &mut bytes, v8::WriteFlags::kReplaceInvalidUtf8, None);
    bytes.truncate(written);
    let buffer = array_buffer(scope, &guest.memory, bytes).ok_or_else(none_left)?;
    v8::Uint8Array::new(scope, buffer, 0, written).ok_or_else(none_left)
}

/// Milliseconds since the execution began, to a tenth: no finer clock for timing attacks.
#[op2(fast)]
fn op_seam_now(state: &mut OpState) -> Result<f64, JsErrorBox> {
    let elapsed = guest(state)?.started.elapsed();
    Ok((elapsed.as_secs_f64() * 10_000.0).floor() / 10.0)
}

/// Fills the bytes with random ones from the system.
#[op2(fast)]
fn op_seam_random(#[buffer] bytes: &mut [u8]) -> Result<(), JsErrorBox> {
    getrandom::fill(bytes).map_err(|_| JsErrorBox::generic("the system has no random numbers"))
}
