//! What script threw, as plain data, read without trusting it.

use deno_core::v8;
use seam_contract::{Refusal, error::MAX_REASON};

use crate::next::Shared;

/// An exception that left a hook function.
#[derive(Debug)]
pub(crate) struct Thrown {
    /// Name and message, as V8 renders them: `TypeError: x is not a function`.
    pub(crate) text: String,
    /// Its message, where it is an error named `Denied`.
    pub(crate) denial: Option<Option<String>>,
    /// The refusal it stands for, where it is the very error that `next` rejected with.
    pub(crate) refusal: Option<Refusal>,
}

impl Thrown {
    /// Reads an exception. It may have getters: this runs script.
    pub(crate) fn read(scope: &mut v8::PinScope<'_, '_>, exception: v8::Local<'_, v8::Value>, shared: &Shared) -> Self {
        let refusal = shared.refusal_behind(scope, exception);
        let denial = if refusal.is_none() && exception.is_native_error() {
            denial(scope, exception)
        } else {
            None
        };
        Self {
            text: rendered(scope, exception),
            denial,
            refusal,
        }
    }
}

/// Name and message of an exception on one line. V8 renders them without running script.
pub(crate) fn rendered(scope: &mut v8::PinScope<'_, '_>, exception: v8::Local<'_, v8::Value>) -> String {
    let message = v8::Exception::create_message(scope, exception);
    let text = message.get(scope);
    let text = plain(&copied(scope, text, MAX_REASON));
    text.strip_prefix("Uncaught ").unwrap_or(&text).to_owned()
}

/// At most `max` UTF-16 units of a string; script can make them hundreds of megabytes long.
pub(crate) fn copied(scope: &v8::Isolate, text: v8::Local<'_, v8::String>, max: usize) -> String {
    let mut units = vec![0; text.length().min(max)];
    text.write_v2(scope, 0, &mut units, v8::WriteFlags::empty());
    String::from_utf16_lossy(&units)
}

/// A text without line breaks and other control characters: it ends in logs and messages.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The message of an error whose `name` is `Denied`.
fn denial(scope: &mut v8::PinScope<'_, '_>, exception: v8::Local<'_, v8::Value>) -> Option<Option<String>> {
    v8::tc_scope!(let scope, scope);
    let error = v8::Local::<v8::Object>::try_from(exception).ok()?;
    let name = string_member(scope, error, "name")?;
    if name != "Denied" {
        return None;
    }
    Some(string_member(scope, error, "message").filter(|message| !message.is_empty()))
}

fn string_member(scope: &mut v8::PinScope<'_, '_>, object: v8::Local<'_, v8::Object>, key: &str) -> Option<String> {
    let key = v8::String::new(scope, key)?;
    let value = object.get(scope, key.into())?;
    let text = v8::Local::<v8::String>::try_from(value).ok()?;
    // One unit more than is kept, so that the cut shows.
    Some(copied(scope, text, MAX_REASON + 1))
}
