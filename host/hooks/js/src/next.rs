//! `next` of a layer, and the errors it rejects with.
//!
//! Script gets a native function for each call. What it sends down is a JSON text from
//! that very moment; it waits here until the script has nothing else to do and then goes
//! to the layer's future, so a `next` that nobody waits for has no effect.

use std::{
    cell::{OnceCell, RefCell},
    collections::HashMap,
    rc::Rc,
    sync::Arc,
};

use deno_core::v8;
use seam_contract::{Error, ErrorKind, Refusal, Role, json::MAX_TEXT};

use crate::console::Budget;

/// How often one call of a layer may use `next`. A retry or a fan-out needs a handful;
/// what each gave is kept until the call ends.
pub const MAX_DESCENTS: usize = 256;

/// What native functions of one realm share with its owner.
pub(crate) struct Shared {
    pub(crate) label: Arc<str>,
    pub(crate) console: Budget,
    pub(crate) encode: OnceCell<v8::Global<v8::Function>>,
    descents: RefCell<Descents>,
}

#[derive(Default)]
struct Descents {
    /// Counts calls, each at its begin and at its end; a `next` knows which one it belongs
    /// to.
    call: u64,
    /// The last number given to a descent. Never reused, so that an error kept from an
    /// earlier call stands for nothing later.
    last: u64,
    /// How many descents this call has begun.
    begun: usize,
    outbox: Vec<(u64, String)>,
    parked: HashMap<u64, v8::Global<v8::PromiseResolver>>,
    refusals: HashMap<u64, Refusal>,
}

/// Why a value did not become a JSON text.
pub(crate) enum Unspoken {
    /// Script threw on the way, or the answer holds what JSON cannot.
    Threw,
    /// The text would be longer than any document may be.
    TooLong,
}

impl Shared {
    pub(crate) fn new(label: Arc<str>) -> Self {
        Self {
            label,
            console: Budget::default(),
            encode: OnceCell::new(),
            descents: RefCell::default(),
        }
    }

    /// A new call begins.
    pub(crate) fn begin(&self) {
        self.console.renew();
        let mut descents = self.descents.borrow_mut();
        descents.call += 1;
        descents.begun = 0;
    }

    /// The call is over: `next` has no effect any more, and what waited for it never
    /// resumes.
    pub(crate) fn end(&self) {
        let mut descents = self.descents.borrow_mut();
        descents.call += 1;
        descents.outbox.clear();
        descents.parked.clear();
        descents.refusals.clear();
    }

    /// The function that the current call gets as `next`.
    pub(crate) fn next_function<'s>(&self, scope: &mut v8::PinScope<'s, '_>) -> Option<v8::Local<'s, v8::Function>> {
        // A double holds such numbers exactly for centuries of calls.
        let call = v8::Number::new(scope, self.descents.borrow().call as f64);
        v8::Function::builder(next)
            .data(call.into())
            .length(1)
            .constructor_behavior(v8::ConstructorBehavior::Throw)
            .build(scope)
    }

    /// What script has sent down since the last time.
    pub(crate) fn take_outbox(&self) -> Vec<(u64, String)> {
        std::mem::take(&mut self.descents.borrow_mut().outbox)
    }

    /// Whether any `next` of this call is still to be settled.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.descents.borrow().parked.is_empty()
    }

    /// Settles one `next`: with the text of an output document, or with a refusal.
    pub(crate) fn settle(&self, scope: &mut v8::PinScope<'_, '_>, id: u64, end: Result<String, Refusal>) {
        let Some(resolver) = self.descents.borrow_mut().parked.remove(&id) else {
            return;
        };
        let resolver = v8::Local::new(scope, resolver);
        match end {
            Ok(text) => {
                let output = v8::String::new(scope, &text).and_then(|text| v8::json::parse(scope, text));
                // Nothing comes out only where the isolate is being stopped.
                if let Some(output) = output {
                    resolver.resolve(scope, output);
                }
            }
            Err(refusal) => {
                if let Some(error) = error_object(scope, &refusal, Some(id)) {
                    self.descents.borrow_mut().refusals.insert(id, refusal);
                    resolver.reject(scope, error.into());
                }
            }
        }
    }

    /// The refusal behind an error that `next` rejected with during this call.
    pub(crate) fn refusal_behind(
        &self,
        scope: &mut v8::PinScope<'_, '_>,
        error: v8::Local<'_, v8::Value>,
    ) -> Option<Refusal> {
        let error = v8::Local::<v8::Object>::try_from(error).ok()?;
        let mark = mark(scope)?;
        let id = error.get_private(scope, mark)?.number_value(scope)?;
        self.descents.borrow().refusals.get(&(id as u64)).cloned()
    }

    /// The JSON text of a value, held strictly to what JSON can say. Runs script.
    pub(crate) fn encode(
        &self,
        scope: &mut v8::PinScope<'_, '_>,
        value: v8::Local<'_, v8::Value>,
    ) -> Result<String, Unspoken> {
        let encode = self.encode.get().ok_or(Unspoken::Threw)?;
        let encode = v8::Local::new(scope, encode);
        let this = v8::undefined(scope).into();
        let text = encode.call(scope, this, &[value]).ok_or(Unspoken::Threw)?;
        let text = v8::Local::<v8::String>::try_from(text).map_err(|_| Unspoken::Threw)?;
        if text.length() > MAX_TEXT || text.utf8_length(scope) > MAX_TEXT {
            return Err(Unspoken::TooLong);
        }
        Ok(text.to_rust_string_lossy(scope))
    }

    /// Takes one descent in, or gives the error to reject it with.
    fn descend<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        call: Option<f64>,
        input: v8::Local<'s, v8::Value>,
        resolver: v8::Local<'s, v8::PromiseResolver>,
    ) -> Option<v8::Local<'s, v8::Value>> {
        let (current, begun) = {
            let descents = self.descents.borrow();
            (descents.call, descents.begun)
        };
        if call != Some(current as f64) {
            let late = Error::new(ErrorKind::Cancelled, "next was used after its layer had settled");
            let late = Refusal::from(late.at(Role::Layer, &self.label));
            return error_object(scope, &late, None).map(Into::into);
        }
        if begun == MAX_DESCENTS {
            return type_error(scope, &format!("next was used more than {MAX_DESCENTS} times"));
        }
        if !input.is_object() || input.is_function() || input.is_array() {
            let what = input.type_of(scope).to_rust_string_lossy(scope);
            let what = if input.is_null() { "null" } else { what.as_str() };
            return type_error(scope, &format!("next takes an input document, got {what}"));
        }
        v8::tc_scope!(let scope, scope);
        let text = match self.encode(scope, input) {
            Ok(text) => text,
            Err(Unspoken::TooLong) => {
                return type_error(scope, &format!("the input document is longer than {MAX_TEXT} bytes"));
            }
            Err(Unspoken::Threw) => {
                let exception = scope.exception()?;
                scope.reset();
                return Some(exception);
            }
        };
        let resolver = v8::Global::new(scope, resolver);
        let mut descents = self.descents.borrow_mut();
        descents.begun += 1;
        descents.last += 1;
        let id = descents.last;
        descents.outbox.push((id, text));
        descents.parked.insert(id, resolver);
        None
    }
}

/// The native `next`. Always gives a promise.
fn next<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    arguments: v8::FunctionCallbackArguments<'s>,
    mut answer: v8::ReturnValue<'_>,
) {
    // None where the isolate is being stopped.
    let Some(resolver) = v8::PromiseResolver::new(scope) else {
        return;
    };
    answer.set(resolver.get_promise(scope).into());
    let Some(shared) = scope.get_slot::<Rc<Shared>>().cloned() else {
        return;
    };
    let call = arguments.data().number_value(scope);
    if let Some(error) = shared.descend(scope, call, arguments.get(0), resolver) {
        resolver.reject(scope, error);
    }
}

/// The error that a refusal is for script: an `Error` with `kind`, `by` and `reason`. `id`
/// marks it invisibly, so that throwing it on can be told from throwing a copy.
fn error_object<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    refusal: &Refusal,
    id: Option<u64>,
) -> Option<v8::Local<'s, v8::Object>> {
    let message = match refusal {
        Refusal::Denied(denial) => match &denial.reason {
            Some(reason) => format!("denied by {} ({reason})", denial.by),
            None => format!("denied by {}", denial.by),
        },
        Refusal::Failed(error) => error.to_string(),
    };
    let message = v8::String::new(scope, &message)?;
    let error = v8::Exception::error(scope, message).to_object(scope)?;
    let name = match refusal {
        Refusal::Denied(_) => "Denied",
        Refusal::Failed(error) => match error.kind() {
            ErrorKind::HookFailed => "HookFailed",
            ErrorKind::EffectFailed => "EffectFailed",
            ErrorKind::Cancelled => "Cancelled",
            ErrorKind::Invalid | ErrorKind::Config => "Invalid",
        },
    };
    let by = refusal.by().to_string();
    for (key, value) in [
        ("name", Some(name)),
        ("kind", Some(refusal.kind_name())),
        ("by", Some(by.as_str())),
        ("reason", refusal.reason()),
    ] {
        let attribute = match key {
            "name" => v8::PropertyAttribute::DONT_ENUM,
            _ => v8::PropertyAttribute::NONE,
        };
        let key = v8::String::new(scope, key)?;
        let value = match value {
            Some(text) => v8::String::new(scope, text)?.into(),
            None => v8::null(scope).into(),
        };
        error.define_own_property(scope, key.into(), value, attribute)?;
    }
    if let Some(id) = id {
        let mark = mark(scope)?;
        let id = v8::Number::new(scope, id as f64);
        error.set_private(scope, mark, id.into())?;
    }
    Some(error)
}

fn type_error<'s>(scope: &mut v8::PinScope<'s, '_>, message: &str) -> Option<v8::Local<'s, v8::Value>> {
    let message = v8::String::new(scope, message)?;
    Some(v8::Exception::type_error(scope, message))
}

/// The private symbol of marked errors. Script can neither see nor make it.
fn mark<'s>(scope: &mut v8::PinScope<'s, '_>) -> Option<v8::Local<'s, v8::Private>> {
    let name = v8::String::new(scope, "seam#refusal")?;
    Some(v8::Private::for_api(scope, Some(name)))
}
