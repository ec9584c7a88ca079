//! Stacks with one hook each around an executor that does nothing, so that the difference
//! to the bare stack is what the hook adds.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::Context as _;
use futures::{FutureExt as _, future::BoxFuture};
use seam_contract::{
    Caller, Cx, Executor, Layer, Operation, OperationKind, Output, PreLayer, Refusal, Stack,
    document::Bodies,
    fetch::{Request, Response},
    headers::Headers,
    record::{Record, Recorder},
    verdict::Side,
};
use seam_hook_js::JsFile;
use seam_hook_rego::RegoEngine;
use seam_hook_wasm::{Engine, EngineOptions};

/// Generous: a number must not depend on a limit.
const LIMIT: Duration = Duration::from_secs(30);

/// The policy of the comparison, as a component and natively.
pub const POLICY: &str = include_str!("../policy.rego");

/// The rule of [`POLICY`].
pub const RULE: &str = "data.mcp.fetch.allow";

/// Every stack that is measured, and what proves that its hook does its work.
pub struct Stacks {
    /// No layer at all.
    pub bare: Arc<Stack>,
    /// `pass.wasm`: a layer that calls `next`, a fresh instance for each call.
    pub wasm_layer: Arc<Stack>,
    /// [`POLICY`] as a gate, in the Rego component.
    pub rego: Arc<Stack>,
    /// `function pre() {}` on a warm isolate.
    pub js_hook: Arc<Stack>,
    /// `(input, next) => next(input)` on a warm isolate.
    pub js_layer: Arc<Stack>,
    /// `count.wasm`: says how often its instance was called.
    pub count: Arc<Stack>,
    /// The executor of all of them.
    pub executor: Arc<Nothing>,
}

impl Stacks {
    /// Builds them all from the components in this directory.
    pub async fn build(components: &Path) -> anyhow::Result<Self> {
        let engine = Engine::new(EngineOptions { cache: None })?;
        let load = |name: &str| -> anyhow::Result<_> {
            let path = components.join(name);
            let bytes = std::fs::read(&path).with_context(|| format!("{}: run cargo xtask guests", path.display()))?;
            Ok(engine.load(name, &bytes)?)
        };
        let kind = OperationKind::Fetch;
        let executor = Arc::new(Nothing::new()?);
        let stack = |layers: Vec<Arc<dyn Layer>>| Stack::new(kind, layers, executor.clone());

        let pass = load("pass.wasm")?.layer(kind, LIMIT, Bodies::Withheld)?;
        let count = load("count.wasm")?.pre_hook(kind, LIMIT, Bodies::Withheld)?;
        let rego = RegoEngine::open(&engine, &components.join("rego.wasm"))?;
        let policy = rego.load(
            "policy.rego",
            vec![("policy.rego".into(), POLICY.into())],
            RULE,
            kind,
            Side::Input,
        )?;
        let gate = policy.pre_hook(LIMIT, Bodies::Withheld)?;
        let hooks = "function pre() {} function handle(input, next) { return next(input); }";
        let js = JsFile::load(Path::new("bench.js"), hooks.into(), Default::default()).await?;
        let js_pre = js.pre_hook("pre", LIMIT, Bodies::Withheld)?;
        let js_layer = js.layer("handle", LIMIT, Bodies::Withheld)?;
        Ok(Self {
            bare: stack(vec![])?,
            wasm_layer: stack(vec![pass])?,
            rego: stack(vec![Arc::new(PreLayer::new(gate))])?,
            js_hook: stack(vec![Arc::new(PreLayer::new(js_pre))])?,
            js_layer: stack(vec![js_layer])?,
            count: stack(vec![Arc::new(PreLayer::new(count))])?,
            executor,
        })
    }
}

/// The request of every measurement: what an agent's API call looks like.
pub fn request() -> anyhow::Result<Operation> {
    let headers = Headers::new([
        ("accept", "application/json"),
        ("content-type", "application/json"),
        ("user-agent", "agent/1.0"),
        ("x-request-id", "0b0d2c3a"),
    ])?;
    let url = "https://api.example.com/v1/items/42?fields=name,price";
    Ok(Operation::Fetch(Request::new("GET", url, headers, None)?))
}

/// Runs one stack once and fails unless the operation is answered.
pub fn call(stack: Arc<Stack>, caller: Arc<Caller>, operation: Operation) -> BoxFuture<'static, anyhow::Result<()>> {
    async move {
        match stack.run(caller, operation).await {
            Ok(_) => Ok(()),
            Err(refusal) => anyhow::bail!("{}", refusal.message("fetch", "the measured request")),
        }
    }
    .boxed()
}

/// An executor that answers at once, and counts.
pub struct Nothing {
    answer: Response,
    runs: AtomicU64,
}

impl Nothing {
    fn new() -> anyhow::Result<Self> {
        Ok(Self {
            answer: Response::new(200, "https://api.example.com/")?,
            runs: AtomicU64::new(0),
        })
    }

    /// How often it ran.
    pub fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }
}

impl Executor for Nothing {
    fn execute<'a>(&'a self, _: &'a Cx, _: Operation) -> BoxFuture<'a, Result<Output, Refusal>> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        let answer = self.answer.clone();
        async move { Ok(Output::Fetch(answer)) }.boxed()
    }
}

/// Keeps the reasons that the counting guest gives.
#[derive(Default)]
pub struct Reasons(pub std::sync::Mutex<Vec<String>>);

impl Recorder for Reasons {
    fn record(&self, record: Record) {
        let reasons = record.steps.into_iter().filter_map(|step| step.reason);
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .extend(reasons);
    }
}
