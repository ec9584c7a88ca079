//! From a source to a hook: files are read, scripts evaluated, components compiled.
//!
//! What can be shared is: a JavaScript file is one worker wherever it stands, a component
//! is compiled once however often it is named, a Rego source is one engine for each rule.

mod disk;

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use seam_contract::{Error, ErrorKind, Executor, Layer, OperationKind, PostHook, PreHook, verdict::Side};
use seam_hook_js::JsFile;
use seam_hook_rego::{Policy, RegoEngine};
use seam_hook_wasm::{Component, Digest, Engine, EngineOptions, HookRole};

use crate::{
    config::{HOOK_LIMIT, Kind, LAYER_LIMIT, Source, Use},
    picture::Backend,
};

/// Loads the sources of one configuration.
pub(crate) struct Loader {
    rego_component: PathBuf,
    cache: Option<PathBuf>,
    engine: Option<Arc<Engine>>,
    rego: Option<Arc<RegoEngine>>,
    scripts: HashMap<PathBuf, Result<Arc<JsFile>, Error>>,
    components: HashMap<Vec<u8>, Component>,
    policies: HashMap<(PathBuf, String, &'static str), Result<Policy, Error>>,
}

/// A source, loaded, with its default for everything it does not say.
pub(crate) struct Loaded {
    hook: Hook,
    /// The last part of its path.
    pub(crate) name: String,
    /// What it is, for the picture.
    pub(crate) backend: Backend,
    /// The rule or function it runs; empty for a component.
    pub(crate) rule: String,
}

enum Hook {
    Script(Arc<JsFile>),
    Component(Component),
    Rego(Policy),
}

/// What a source of a stack becomes.
pub(crate) enum InStack {
    /// A layer with `next`.
    Layer(Arc<dyn Layer>),
    /// A judge on the way down.
    PreHook(Arc<dyn PreHook>),
}

impl Loader {
    /// A loader. `components` is the directory of the shipped components, `cache` where
    /// compiled ones are kept.
    pub(crate) fn new(components: PathBuf, cache: Option<PathBuf>) -> Self {
        Self {
            rego_component: components.join("rego.wasm"),
            cache,
            engine: None,
            rego: None,
            scripts: HashMap::new(),
            components: HashMap::new(),
            policies: HashMap::new(),
        }
    }

    /// Loads one source for an operation.
    ///
    /// Errors (kind `config`) name the file and what is wrong with it.
    pub(crate) async fn load(&mut self, kind: OperationKind, source: &Source) -> Result<Loaded, Error> {
        let (hook, rule, backend) = match source.kind {
            Kind::JavaScript => {
                let rule = source
                    .rule
                    .clone()
                    .unwrap_or_else(|| source.used_as.function().to_owned());
                (Hook::Script(self.script(source).await?), rule, Backend::JavaScript)
            }
            Kind::Component => (
                Hook::Component(self.component(source).await?),
                String::new(),
                Backend::Component,
            ),
            Kind::Rego => {
                let default = || format!("data.mcp.{kind}.{}", source.used_as.rego_rule());
                let rule = source.rule.clone().unwrap_or_else(default);
                (Hook::Rego(self.policy(kind, source, &rule).await?), rule, Backend::Rego)
            }
        };
        Ok(Loaded {
            hook,
            name: disk::name(&source.path),
            backend,
            rule,
        })
    }

    async fn script(&mut self, source: &Source) -> Result<Arc<JsFile>, Error> {
        let file = disk::canonical(&source.path)?;
        if let Some(known) = self.scripts.get(&file) {
            return known.clone();
        }
        let loaded = match disk::text(&file) {
            Ok(text) => JsFile::load(&file, text, seam_hook_js::Options::default()).await,
            Err(error) => Err(error),
        };
        self.scripts.insert(file, loaded.clone());
        loaded
    }

    async fn component(&mut self, source: &Source) -> Result<Component, Error> {
        let bytes = disk::component(&source.path)?;
        let digest = Digest::of([bytes.as_slice()]).as_bytes().to_vec();
        if let Some(known) = self.components.get(&digest) {
            return Ok(known.clone());
        }
        let (engine, name) = (self.engine()?, disk::name(&source.path));
        let component = blocking(move || engine.load(&name, &bytes)).await?;
        self.components.insert(digest, component.clone());
        Ok(component)
    }

    async fn policy(&mut self, kind: OperationKind, source: &Source, rule: &str) -> Result<Policy, Error> {
        let side = source.used_as.side();
        let key = (disk::canonical(&source.path)?, rule.to_owned(), side.key());
        if let Some(known) = self.policies.get(&key) {
            return known.clone();
        }
        let files = disk::rego(&key.0)?;
        let rego = self.rego().await?;
        let (name, rule) = (disk::name(&source.path), rule.to_owned());
        let loaded = blocking(move || rego.load(&name, files, &rule, kind, side)).await;
        self.policies.insert(key, loaded.clone());
        loaded
    }

    fn engine(&mut self) -> Result<Arc<Engine>, Error> {
        if let Some(engine) = &self.engine {
            return Ok(engine.clone());
        }
        let engine = Engine::new(EngineOptions {
            cache: self.cache.clone(),
        })?;
        Ok(self.engine.insert(engine).clone())
    }

    async fn rego(&mut self) -> Result<Arc<RegoEngine>, Error> {
        if let Some(rego) = &self.rego {
            return Ok(rego.clone());
        }
        let (engine, component) = (self.engine()?, self.rego_component.clone());
        let rego = blocking(move || RegoEngine::open(&engine, &component)).await?;
        Ok(self.rego.insert(Arc::new(rego)).clone())
    }
}

impl Loaded {
    /// As a pre hook, or as one of the policies.
    pub(crate) fn pre_hook(&self, kind: OperationKind, source: &Source) -> Result<Arc<dyn PreHook>, Error> {
        let limit = source.limit(Use::Pre);
        match &self.hook {
            Hook::Script(file) => file.pre_hook(&self.rule, limit, source.bodies),
            Hook::Component(component) => component.pre_hook(kind, limit, source.bodies),
            Hook::Rego(policy) => policy.pre_hook(limit, source.bodies),
        }
    }

    /// As a post hook.
    pub(crate) fn post_hook(&self, kind: OperationKind, source: &Source) -> Result<Arc<dyn PostHook>, Error> {
        let limit = source.limit(Use::Post);
        match &self.hook {
            Hook::Script(file) => file.post_hook(&self.rule, limit, source.bodies),
            Hook::Component(component) => component.post_hook(kind, limit, source.bodies),
            Hook::Rego(policy) => policy.post_hook(limit, source.bodies),
        }
    }

    /// As an entry of a stack. A component that is no layer but a pre hook joins as a pre
    /// hook, as Rego does.
    pub(crate) fn in_stack(&self, kind: OperationKind, source: &Source) -> Result<InStack, Error> {
        let limit = source.limit(Use::Layer);
        match &self.hook {
            Hook::Script(file) => file.layer(&self.rule, limit, source.bodies).map(InStack::Layer),
            Hook::Component(component) if !is_layer(component) && is_pre_hook(component) => {
                self.pre_hook(kind, source).map(InStack::PreHook)
            }
            Hook::Component(component) => component.layer(kind, limit, source.bodies).map(InStack::Layer),
            Hook::Rego(_) => self.pre_hook(kind, source).map(InStack::PreHook),
        }
    }

    /// As the innermost place.
    pub(crate) fn executor(&self, kind: OperationKind, source: &Source) -> Result<Arc<dyn Executor>, Error> {
        let limit = source.limit(Use::Executor);
        match &self.hook {
            Hook::Script(file) => file.executor(&self.rule, limit, source.bodies),
            Hook::Component(component) => component.executor(kind, limit, source.bodies),
            Hook::Rego(_) => Err(Error::new(
                ErrorKind::Config,
                "Rego cannot answer in place of the effect",
            )),
        }
    }

    /// The worker behind it, where it is JavaScript: one call of it at a time.
    pub(crate) fn worker(&self) -> Option<*const JsFile> {
        match &self.hook {
            Hook::Script(file) => Some(Arc::as_ptr(file)),
            _ => None,
        }
    }
}

/// Whether one worker stands in a stack twice, where it would wait for itself.
pub(crate) fn repeated<'l>(places: impl IntoIterator<Item = (&'l str, &'l Loaded)>) -> Vec<&'l str> {
    let mut seen = HashSet::new();
    let again = |(at, loaded): (&'l str, &Loaded)| loaded.worker().filter(|worker| !seen.insert(*worker)).map(|_| at);
    places.into_iter().filter_map(again).collect()
}

fn is_layer(component: &Component) -> bool {
    component
        .roles()
        .iter()
        .any(|role| matches!(role, HookRole::FetchLayer | HookRole::DocumentLayer))
}

fn is_pre_hook(component: &Component) -> bool {
    component
        .roles()
        .iter()
        .any(|role| matches!(role, HookRole::FetchPre | HookRole::DocumentPre))
}

impl Source {
    /// How long it may take as this.
    pub(crate) fn limit(&self, used_as: Use) -> Duration {
        self.limit.unwrap_or(match used_as {
            Use::Policy | Use::Pre | Use::Post => HOOK_LIMIT,
            Use::Layer | Use::Executor => LAYER_LIMIT,
        })
    }
}

impl Use {
    /// The JavaScript function where a source has no `rule`.
    fn function(self) -> &'static str {
        match self {
            Self::Policy | Self::Pre => "pre",
            Self::Post => "post",
            Self::Layer | Self::Executor => "handle",
        }
    }

    /// Which documents it judges.
    fn side(self) -> Side {
        match self {
            Self::Post => Side::Output,
            Self::Policy | Self::Pre | Self::Layer | Self::Executor => Side::Input,
        }
    }

    /// The last part of the Rego rule where a source has no `rule`. In a stack Rego has
    /// the meaning of a pre hook.
    fn rego_rule(self) -> &'static str {
        match self {
            Self::Policy => "allow",
            Self::Pre | Self::Layer | Self::Executor => "pre",
            Self::Post => "post",
        }
    }
}

/// Runs what computes for seconds beside the threads that serve.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        Err(Error::new(
            ErrorKind::Config,
            "loading it ended in a defect of the host, please report it",
        )
        .with_source(error))
    })
}
