//! What the tests share: one engine, the built guests, guests written as text, and a stack
//! that ends in an executor which records what reaches it.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex},
    time::Duration,
};

use futures::future::BoxFuture;
use seam_contract::{
    Caller, Cx, Executor, Layer, Operation, OperationKind, Output, Refusal, Stack,
    document::Bodies,
    fetch::{Request, Response},
    headers::Headers,
    record::{Record, Recorder},
};
use seam_hook_wasm::{Component, Engine, EngineOptions};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// Long enough that only a guest that never ends reaches it.
pub const LIMIT: Duration = Duration::from_secs(20);

/// The engine that most tests share. Those that look at its numbers make their own.
pub static ENGINE: LazyLock<Arc<Engine>> = LazyLock::new(engine);

pub fn engine() -> Arc<Engine> {
    Engine::new(EngineOptions::default()).expect("an engine without a cache has nothing to refuse")
}

/// The bytes of a guest that `cargo xtask guests` built.
pub fn built(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../target/components")
        .join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}; run cargo xtask guests"))
}

pub fn load(name: &str) -> Component {
    load_into(&ENGINE, name)
}

pub fn load_into(engine: &Arc<Engine>, name: &str) -> Component {
    engine.load(name, &built(name)).unwrap()
}

/// A component for one world of `wit/` out of the text of a core module.
pub fn written(world: &str, core: &str) -> Vec<u8> {
    let mut resolve = Resolve {
        all_features: true,
        ..Resolve::default()
    };
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../wit");
    let (package, _) = resolve.push_dir(&wit).unwrap();
    let world = resolve.select_world(&[package], Some(world)).unwrap();
    let mut module = wat::parse_str(core).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    let mut encoder = ComponentEncoder::default().validate(true).module(&module).unwrap();
    encoder.encode().unwrap()
}

/// Answers from a list, then 200, and keeps what it was asked for.
#[derive(Default)]
pub struct Recording {
    pub seen: Mutex<Vec<Request>>,
    pub answers: Mutex<VecDeque<Result<Response, Refusal>>>,
}

impl Recording {
    pub fn answering(answers: impl IntoIterator<Item = Result<Response, Refusal>>) -> Arc<Self> {
        Arc::new(Self {
            answers: Mutex::new(answers.into_iter().collect()),
            ..Self::default()
        })
    }

    pub fn urls(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        seen.iter().map(|request| request.url().to_string()).collect()
    }
}

impl Executor for Recording {
    fn execute<'a>(&'a self, _cx: &'a Cx, operation: Operation) -> BoxFuture<'a, Result<Output, Refusal>> {
        Box::pin(async move {
            let Operation::Fetch(request) = operation;
            let url = request.url().to_string();
            self.seen.lock().unwrap().push(request);
            let next = self.answers.lock().unwrap().pop_front();
            next.unwrap_or_else(|| Ok(answer(200, &url))).map(Output::Fetch)
        })
    }
}

pub fn answer(status: u16, url: &str) -> Response {
    Response::new(status, url).unwrap()
}

pub fn request(method: &str, url: &str, headers: &[(&str, &str)], body: Option<&'static [u8]>) -> Request {
    Request::new(
        method,
        url,
        Headers::new(headers.iter().copied()).unwrap(),
        body.map(Into::into),
    )
    .unwrap()
}

/// `GET http://ok.test/p?q=1` with these headers.
pub fn get(headers: &[(&str, &str)]) -> Request {
    request("GET", "http://ok.test/p?q=1", headers, None)
}

/// Keeps the records of ended operations.
#[derive(Default)]
pub struct Records(pub Mutex<Vec<Record>>);

impl Recorder for Records {
    fn record(&self, record: Record) {
        self.0.lock().unwrap().push(record);
    }
}

/// A stack of hooks around a recording executor.
pub struct Bench {
    pub stack: Arc<Stack>,
    pub executor: Arc<Recording>,
    pub records: Arc<Records>,
}

impl Bench {
    pub fn new(layers: Vec<Arc<dyn Layer>>, executor: Arc<Recording>) -> Self {
        Self {
            stack: Stack::new(OperationKind::Fetch, layers, executor.clone()).unwrap(),
            executor,
            records: Arc::default(),
        }
    }

    pub fn pre(component: &Component, bodies: Bodies) -> Self {
        Self::pre_within(component, bodies, LIMIT)
    }

    pub fn pre_within(component: &Component, bodies: Bodies, limit: Duration) -> Self {
        let hook = component.pre_hook(OperationKind::Fetch, limit, bodies).unwrap();
        Self::new(Stack::chain(vec![hook], vec![], vec![]), Arc::default())
    }

    pub fn post(component: &Component, executor: Arc<Recording>) -> Self {
        let hook = component
            .post_hook(OperationKind::Fetch, LIMIT, Bodies::Withheld)
            .unwrap();
        Self::new(Stack::chain(vec![], vec![hook], vec![]), executor)
    }

    pub fn layers(components: &[&Component], executor: Arc<Recording>) -> Self {
        let layers = components
            .iter()
            .map(|component| component.layer(OperationKind::Fetch, LIMIT, Bodies::Withheld).unwrap())
            .collect();
        Self::new(layers, executor)
    }

    pub async fn run(&self, request: Request) -> Result<Response, Refusal> {
        let mut caller = Caller::new("execution-1");
        caller.recorder = Some(self.records.clone());
        let end = self.stack.run(Arc::new(caller), Operation::Fetch(request)).await;
        end.map(|Output::Fetch(response)| response)
    }

    /// The reason that the place at `depth` gave in the last operation.
    pub fn reason(&self, depth: usize) -> Option<String> {
        let records = self.records.0.lock().unwrap();
        let steps = &records.last().unwrap().steps;
        steps.iter().find(|step| step.depth == depth).unwrap().reason.clone()
    }
}

/// The text of a refusal with its kind before it: `denied: no`, `hook-failed: trapped…`.
#[track_caller]
pub fn refused<T: std::fmt::Debug>(end: Result<T, Refusal>) -> String {
    let refusal = end.expect_err("expected a refusal");
    format!("{}: {}", refusal.kind_name(), refusal.reason().unwrap_or("-"))
}

/// A directory of its own, gone with the value.
pub struct Directory(pub PathBuf);

impl Directory {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("seam-wasm-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
