//! What the tests share: one Rego engine, and a stack that ends in a recording executor.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex},
    time::Duration,
};

use futures::future::BoxFuture;
use seam_contract::{
    Caller, Cx, Error, Executor, Operation, OperationKind, Output, Refusal, Stack,
    document::Bodies,
    fetch::{Request, Response},
    headers::Headers,
    verdict::Side,
};
use seam_hook_rego::{Policy, RegoEngine};
use seam_hook_wasm::{Engine, EngineOptions};

/// Long enough that only a rule that never ends reaches it.
pub const LIMIT: Duration = Duration::from_secs(20);

/// The engine that most tests share. Its cache is one of this run alone.
pub static REGO: LazyLock<RegoEngine> = LazyLock::new(|| open(&engine(None)));

pub fn engine(cache: Option<PathBuf>) -> Arc<Engine> {
    Engine::new(EngineOptions { cache }).unwrap()
}

pub fn open(engine: &Arc<Engine>) -> RegoEngine {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/components/rego.wasm");
    RegoEngine::open(engine, &path).unwrap_or_else(|error| panic!("{error}"))
}

/// A policy of one file in the package `t`.
pub fn try_load(text: &str, rule: &str, side: Side) -> Result<Policy, Error> {
    let files = vec![("t.rego".to_owned(), format!("package t\n{text}"))];
    REGO.load("t.rego", files, rule, OperationKind::Fetch, side)
}

/// Answers 200 and keeps what it was asked for.
#[derive(Default)]
pub struct Recording(Mutex<Vec<Request>>);

impl Executor for Recording {
    fn execute<'a>(&'a self, _cx: &'a Cx, operation: Operation) -> BoxFuture<'a, Result<Output, Refusal>> {
        Box::pin(async move {
            let Operation::Fetch(request) = operation;
            let answer = Response::new(200, request.url().as_str()).unwrap();
            self.0.lock().unwrap().push(request);
            Ok(Output::Fetch(answer))
        })
    }
}

/// A stack with one hook.
pub struct Bench {
    stack: Arc<Stack>,
    executor: Arc<Recording>,
}

impl Bench {
    pub fn pre(policy: &Policy) -> Self {
        Self::pre_within(policy, LIMIT)
    }

    pub fn pre_within(policy: &Policy, limit: Duration) -> Self {
        let hook = policy.pre_hook(limit, Bodies::Withheld).unwrap();
        let executor = Arc::<Recording>::default();
        let layers = Stack::chain(vec![hook], vec![], vec![]);
        Self {
            stack: Stack::new(OperationKind::Fetch, layers, executor.clone()).unwrap(),
            executor,
        }
    }

    pub fn post(policy: &Policy) -> Self {
        let hook = policy.post_hook(LIMIT, Bodies::Withheld).unwrap();
        let executor = Arc::<Recording>::default();
        let layers = Stack::chain(vec![], vec![hook], vec![]);
        Self {
            stack: Stack::new(OperationKind::Fetch, layers, executor.clone()).unwrap(),
            executor,
        }
    }

    pub async fn run(&self, request: Request) -> Result<Response, Refusal> {
        let mut caller = Caller::new("e");
        caller.mcp_headers.insert("tenant".into(), "blue".into());
        let end = self.stack.run(Arc::new(caller), Operation::Fetch(request)).await;
        end.map(|Output::Fetch(response)| response)
    }

    /// How `request` ends: `allowed` with what was sent, or the refusal.
    pub async fn outcome(&self, request: Request) -> String {
        let before = self.executor.0.lock().unwrap().len();
        let end = self.run(request).await;
        let seen = self.executor.0.lock().unwrap()[before..].to_vec();
        match end {
            Ok(response) => format!("allowed {} -> {}", seen[0].url(), response.status()),
            Err(refusal) => format!("{} {}", refusal.kind_name(), refusal.reason().unwrap_or("-")),
        }
    }

    /// How many requests reached the executor.
    pub fn sent(&self) -> usize {
        self.executor.0.lock().unwrap().len()
    }
}

pub fn get(url: &str) -> Request {
    Request::new("GET", url, Headers::default(), None).unwrap()
}

/// A directory of its own, gone with the value.
pub struct Directory(pub PathBuf);

impl Directory {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("seam-rego-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
