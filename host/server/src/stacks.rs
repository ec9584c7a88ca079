//! From a configuration to stacks that run.

use std::{path::PathBuf, sync::Arc};

use seam_contract::{Error, Executor, Layer, OperationKind, PreHook, PreLayer, Role, Stack, document::Bodies};
use seam_executor_http::HttpExecutor;
use seam_hook_policy::{Mode, Policy};

use crate::{
    config::{self, Config, FetchConfig, Form, Given, Mistakes, Place, Policies, Source, Terminal, Use, mistake::Log},
    load::{InStack, Loaded, Loader, repeated},
    picture::{self, Origin, Picture},
};

/// What stacks are made with, beside their configuration.
#[derive(Clone, Default)]
pub struct Surroundings {
    /// The directory of the shipped components; needed where Rego is configured.
    pub components: PathBuf,
    /// Where compiled components are kept from one start to the next. `None`: nowhere.
    pub cache: Option<PathBuf>,
    /// In place of the real executor of `fetch`, for measurements and tests of a stack.
    pub fetch: Option<Arc<dyn Executor>>,
}

/// The stacks of one configuration. An operation without one does not exist.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    /// The stack of `fetch`.
    pub fetch: Option<Arc<Stack>>,
    /// Each stack in plain words.
    pub pictures: Vec<Picture>,
    /// What is legal but probably not meant, one sentence each.
    pub warnings: Vec<String>,
}

impl Stacks {
    /// Reads a configuration, loads everything it names and builds the stacks.
    ///
    /// `argument` is that of `--policies-json`: JSON that starts with a brace, or the path
    /// of a file. V8 must have been started (`seam_isolate::init_platform`) where the
    /// configuration names JavaScript.
    ///
    /// Errors: every mistake there is, each with its JSON path.
    pub async fn open(argument: &str, surroundings: Surroundings) -> Result<Self, Mistakes> {
        let given = Given::read(argument)?;
        let log = Log::new(&given.origin);
        let config = config::read::config(&given, &log);
        let stacks = Builder::new(&log, surroundings).stacks(&config).await;
        log.unless_mistaken(Some(stacks))
    }
}

/// Builds stacks, and goes on after a mistake to find the next.
struct Builder<'l> {
    log: &'l Log,
    loader: Loader,
    fetch: Option<Arc<dyn Executor>>,
    warnings: Vec<String>,
}

/// Places of one stack under construction, outermost first.
#[derive(Default)]
struct Layers {
    layers: Vec<Arc<dyn Layer>>,
    places: Vec<picture::Place>,
}

impl<'l> Builder<'l> {
    fn new(log: &'l Log, surroundings: Surroundings) -> Self {
        let loader = Loader::new(surroundings.components, surroundings.cache);
        Self {
            log,
            loader,
            fetch: surroundings.fetch,
            warnings: Vec::new(),
        }
    }

    async fn stacks(mut self, config: &Config) -> Stacks {
        let mut stacks = Stacks::default();
        if let Some(fetch) = &config.fetch
            && let Some((stack, picture)) = self.fetch(fetch).await
        {
            stacks.fetch = Some(stack);
            stacks.pictures.push(picture);
        }
        stacks.warnings = self.warnings;
        stacks
    }

    async fn fetch(&mut self, config: &FetchConfig) -> Option<(Arc<Stack>, Picture)> {
        let kind = OperationKind::Fetch;
        let policy = match &config.policies {
            Some(policies) => Some(self.policy(kind, policies).await),
            None => None,
        };
        let (layers, terminal) = match &config.form {
            Form::Chain { pre, post } => (self.chain(kind, pre, post, policy).await, &Terminal::Execute),
            Form::Stack { places, terminal } => (self.stack(kind, places, terminal, policy).await, terminal),
        };
        let (executor, innermost) = self.executor(kind, terminal).await?;
        let mut places = layers.places;
        places.push(innermost);
        if places.len() == 1 {
            self.warnings.push(format!(
                "{kind}: there is no policy, hook or layer, so nothing judges it"
            ));
        }
        match Stack::new(kind, layers.layers, executor) {
            Ok(stack) => Some((stack, Picture { kind, places })),
            Err(error) => {
                self.log.add(kind.name(), error.message());
                None
            }
        }
    }

    /// `[pre0 … preN, postN … post0, @policy]`.
    async fn chain(&mut self, kind: OperationKind, pre: &[Source], post: &[Source], policy: Option<Layers>) -> Layers {
        let (mut pre_hooks, mut post_hooks) = (Vec::new(), Vec::new());
        let mut places = Vec::new();
        for source in pre {
            if let Some((hook, place)) = self
                .take(kind, source, Role::PreHook, |loaded| loaded.pre_hook(kind, source))
                .await
            {
                pre_hooks.push(hook);
                places.push(place);
            }
        }
        let mut below = Vec::new();
        for source in post {
            if let Some((hook, place)) = self
                .take(kind, source, Role::PostHook, |loaded| loaded.post_hook(kind, source))
                .await
            {
                post_hooks.push(hook);
                below.push(place);
            }
        }
        let policy = policy.unwrap_or_default();
        places.extend(below.into_iter().rev().chain(policy.places));
        Layers {
            layers: Stack::chain(pre_hooks, post_hooks, policy.layers),
            places,
        }
    }

    async fn stack(
        &mut self,
        kind: OperationKind,
        list: &[Place],
        terminal: &Terminal,
        policy: Option<Layers>,
    ) -> Layers {
        let mut layers = Layers::default();
        let mut policy = policy;
        let mut workers = Vec::new();
        for place in list {
            let source = match place {
                Place::Policy => {
                    let policy = policy.take().unwrap_or_default();
                    layers.layers.extend(policy.layers);
                    layers.places.extend(policy.places);
                    continue;
                }
                Place::Source(source) => source,
            };
            let Some(loaded) = self.load(kind, source).await else {
                continue;
            };
            let (role, layer) = match self.checked(source, loaded.in_stack(kind, source)) {
                Some(InStack::Layer(layer)) => (Role::Layer, layer),
                Some(InStack::PreHook(hook)) => (Role::PreHook, Arc::new(PreLayer::new(hook)) as Arc<dyn Layer>),
                None => continue,
            };
            layers.places.push(described(kind, role, layer.name(), source, &loaded));
            layers.layers.push(layer);
            workers.push((source, loaded));
        }
        if let Terminal::Virtual(source) = terminal
            && let Ok(loaded) = self.loader.load(kind, source).await
        {
            workers.push((source, loaded));
        }
        for at in repeated(workers.iter().map(|(source, loaded)| (source.at.as_str(), loaded))) {
            let message = "is a JavaScript file that stands in this stack already; it would wait for itself";
            self.log.add(at, message);
        }
        layers
    }

    async fn policy(&mut self, kind: OperationKind, policies: &Policies) -> Layers {
        let mut hooks: Vec<Arc<dyn PreHook>> = Vec::new();
        let mut sources = Vec::new();
        for source in &policies.sources {
            if let Some((hook, place)) = self
                .take(kind, source, Role::Policy, |loaded| loaded.pre_hook(kind, source))
                .await
            {
                hooks.push(hook);
                sources.extend(place.sources);
            }
        }
        if policies.sources.is_empty() {
            self.warnings.push(format!(
                "{kind}.policies: the list is empty, so the policy allows everything"
            ));
        }
        let how = match policies.mode {
            Mode::All => "all must say yes",
            Mode::Any => "one yes is enough",
        };
        let layer: Arc<dyn Layer> = Arc::new(Policy::new(policies.mode, hooks));
        let bodies = if sources.iter().any(|source: &Origin| source.bodies == Bodies::Given) {
            Bodies::Given
        } else {
            Bodies::Withheld
        };
        let sees = format!("{}; {how}", picture::sees(kind, Role::Policy, bodies));
        let place = picture::Place {
            role: Role::Policy,
            name: layer.name().to_owned(),
            sources,
            sees,
        };
        Layers {
            layers: vec![layer],
            places: vec![place],
        }
    }

    async fn executor(
        &mut self,
        kind: OperationKind,
        terminal: &Terminal,
    ) -> Option<(Arc<dyn Executor>, picture::Place)> {
        match terminal {
            Terminal::Virtual(source) => {
                self.take(kind, source, Role::Executor, |loaded| loaded.executor(kind, source))
                    .await
            }
            Terminal::Execute => {
                let executor = match self.fetch.clone().map_or_else(real, Ok) {
                    Ok(executor) => executor,
                    Err(error) => {
                        self.log.add(kind.name(), error.message());
                        return None;
                    }
                };
                let sees = "sends the request over the network; a redirect comes back as it is".to_owned();
                let place = picture::Place {
                    role: Role::Executor,
                    name: executor.name().to_owned(),
                    sources: Vec::new(),
                    sees,
                };
                Some((executor, place))
            }
        }
    }

    /// Loads a source and takes one role of it.
    async fn take<T>(
        &mut self,
        kind: OperationKind,
        source: &Source,
        role: Role,
        take: impl FnOnce(&Loaded) -> Result<T, Error>,
    ) -> Option<(T, picture::Place)> {
        let loaded = self.load(kind, source).await?;
        let taken = self.checked(source, take(&loaded))?;
        Some((taken, described(kind, role, &loaded.name, source, &loaded)))
    }

    async fn load(&mut self, kind: OperationKind, source: &Source) -> Option<Loaded> {
        let loaded = self.loader.load(kind, source).await;
        self.checked(source, loaded)
    }

    fn checked<T>(&self, source: &Source, result: Result<T, Error>) -> Option<T> {
        let told = |error: &Error| {
            self.log
                .add(&source.at, format!("{}: {}", source.path.display(), error.message()))
        };
        result.inspect_err(told).ok()
    }
}

fn real() -> Result<Arc<dyn Executor>, Error> {
    Ok(Arc::new(HttpExecutor::new()?))
}

fn described(kind: OperationKind, role: Role, name: &str, source: &Source, loaded: &Loaded) -> picture::Place {
    let used_as = match role {
        Role::Layer => Use::Layer,
        Role::Executor => Use::Executor,
        Role::PreHook | Role::PostHook | Role::Policy => Use::Pre,
    };
    let origin = Origin {
        backend: loaded.backend,
        path: source.path.clone(),
        rule: loaded.rule.clone(),
        limit: source.limit(used_as),
        bodies: source.bodies,
    };
    let sees = picture::sees(kind, role, source.bodies);
    picture::Place {
        role,
        name: name.to_owned(),
        sources: vec![origin],
        sees,
    }
}
