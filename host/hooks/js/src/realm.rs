//! The isolate of one hook file: called, resumed, cleaned up after a call.

mod evaluate;

use std::{
    collections::HashMap,
    rc::Rc,
    sync::Arc,
    task::{Context, Waker},
};

use deno_core::{PollEventLoopOptions, scope, v8};
use seam_contract::{Error, Refusal, error::MAX_REASON, json::MAX_TEXT};
use seam_isolate::{Cause, Function, Isolate, Stop};

use crate::{
    call::End,
    next::{Shared, Unspoken},
    thrown::{Thrown, plain, rendered},
};

pub use evaluate::GLOBALS;

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
    /// Why the isolate was stopped, if it was.
    pub(crate) fn stopped(&self) -> Option<Cause> {
        self.isolate.terminator().cause()
    }

    /// Waits until it is stopped.
    pub(crate) fn stop(&self) -> impl Future<Output = Cause> + use<> {
        let terminator = self.isolate.terminator().clone();
        async move { terminator.stopped().await }
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
        match v8::Local::<v8::Promise>::try_from(value) {
            Ok(promise) => {
                scope.perform_microtask_checkpoint();
                look(scope, promise, &self.shared)
            }
            Err(_) => {
                let end = answered(scope, value, &self.shared);
                scope.perform_microtask_checkpoint();
                Progress::Ended(end)
            }
        }
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
            (End::Nothing | End::Json(_), Err(what)) => {
                End::Failed(Error::hook(format!("left a rejected promise unhandled ({what})")))
            }
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
        match self
            .isolate
            .runtime()
            .poll_event_loop(&mut cx, PollEventLoopOptions::default())
        {
            std::task::Poll::Ready(Err(error)) => {
                let text = Stop::from(error).to_string();
                Err(plain(&text).chars().take(MAX_REASON).collect())
            }
            _ => Ok(()),
        }
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
