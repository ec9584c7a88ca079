//! The configuration of `--policies-json`: what was written, checked for form.
//!
//! Reading has three steps: [`Given`] finds the text, [`read`] walks it into the types
//! here and collects every mistake of form, [`load`](crate::load) turns each source into a
//! hook. What stands here is not loaded yet: a file may still be missing.

mod file;
mod given;
pub(crate) mod mistake;
pub(crate) mod read;
mod walk;

use std::{path::PathBuf, time::Duration};

use seam_contract::document::Bodies;
use seam_hook_policy::Mode;

pub(crate) use file::Kind;
pub(crate) use given::Given;
pub use mistake::{Mistake, Mistakes};

/// How long a hook may take where its source has no `timeout_ms`.
pub const HOOK_LIMIT: Duration = Duration::from_secs(5);

/// How long a layer or a virtual executor may take where its source has no `timeout_ms`.
/// The time inside `next` counts, so there must be room for the effect itself.
pub const LAYER_LIMIT: Duration = Duration::from_secs(30);

/// The longest `timeout_ms`, in milliseconds: nobody waits more than ten minutes for a
/// verdict, and a larger number is a mistake of units.
pub const MAX_LIMIT_MS: u64 = 600_000;

/// The operations that exist. One that is not configured does not exist in the guest.
#[derive(Debug, Default)]
pub(crate) struct Config {
    pub(crate) fetch: Option<FetchConfig>,
}

/// The operation `fetch`.
#[derive(Debug)]
pub(crate) struct FetchConfig {
    /// The policies, where the key is there at all.
    pub(crate) policies: Option<Policies>,
    /// The hooks or layers around them.
    pub(crate) form: Form,
}

/// The policies of an operation.
#[derive(Debug)]
pub(crate) struct Policies {
    pub(crate) mode: Mode,
    pub(crate) sources: Vec<Source>,
}

/// The two spellings of what stands around an operation.
#[derive(Debug)]
pub(crate) enum Form {
    /// `pre` and `post`.
    Chain { pre: Vec<Source>, post: Vec<Source> },
    /// `stack`, with `@policy` placed where there are policies.
    Stack { places: Vec<Place>, terminal: Terminal },
}

/// One place in a stack above the innermost.
#[derive(Debug)]
pub(crate) enum Place {
    /// `@policy`
    Policy,
    /// A source.
    Source(Source),
}

/// The innermost place.
#[derive(Debug)]
pub(crate) enum Terminal {
    /// `@execute`
    Execute,
    /// `{"execute": {source}}`
    Virtual(Source),
}

/// One source of a hook, a policy, a layer or an executor.
#[derive(Debug)]
pub(crate) struct Source {
    /// Where it stands, such as `fetch.pre[1]`.
    pub(crate) at: String,
    /// What it is used as.
    pub(crate) used_as: Use,
    /// The absolute path of its file or directory.
    pub(crate) path: PathBuf,
    /// What kind of source it is.
    pub(crate) kind: Kind,
    /// The rule or function, where the source names one.
    pub(crate) rule: Option<String>,
    /// `timeout_ms`, where the source has one.
    pub(crate) limit: Option<Duration>,
    /// `body`.
    pub(crate) bodies: Bodies,
}

/// What a source is used as, by where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Policy,
    Pre,
    Post,
    /// In a stack. Rego, and a component without the role of a layer, judge there as pre
    /// hooks.
    Layer,
    /// In place of `@execute`.
    Executor,
}
