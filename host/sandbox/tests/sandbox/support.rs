//! What the tests share: a host runtime fit for isolates, and recording ends of a stack.

use std::{
    future::{Future, pending},
    sync::{Arc, LazyLock, Mutex, mpsc},
    thread,
    time::Duration,
};

use futures::future::BoxFuture;
use seam_contract::{
    Caller, Cx, Error, Executor, Layer, Operation, OperationKind, Output, PreHook, Refusal, Stack, Verdict,
    document::{self, Bodies},
    error::ErrorKind,
    fetch::{Request, Response},
    headers::Headers,
};
use seam_sandbox::{Limits, Outcome, Script, Seam, Status, Value, init_platform, run};
use tokio::runtime::{Builder, Handle};

/// The host's runtime. Its workers descend from the thread that started V8.
pub static HOST: LazyLock<Handle> = LazyLock::new(|| {
    let (ready, handle) = mpsc::channel();
    thread::spawn(move || {
        init_platform();
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        ready.send(runtime.handle().clone()).unwrap();
        runtime.block_on(pending::<()>());
    });
    handle.recv().unwrap()
});

/// Runs a test body on the host's runtime.
pub fn on_host<T: Send + 'static>(body: impl Future<Output = T> + Send + 'static) -> T {
    let (done, end) = mpsc::channel();
    HOST.spawn(async move {
        let _ = done.send(body.await);
    });
    end.recv().expect("the test body panicked")
}

/// Runs a script with these limits and this seam.
pub async fn run_with(code: &str, limits: Limits, seam: &Seam) -> Outcome {
    run(
        Script::new(code),
        limits,
        seam,
        Arc::new(Caller::new("test")),
        None,
        pending(),
    )
    .await
}

/// Runs a script that has no fetch.
pub fn bare(code: &str) -> Outcome {
    let code = code.to_owned();
    on_host(async move { run_with(&code, Limits::default(), &Seam::default()).await })
}

/// The JSON of what a script completes with.
pub fn json(outcome: &Outcome) -> &str {
    match (&outcome.status, &outcome.result) {
        (Status::Completed, Some(Value::Json(text))) => text,
        _ => panic!("no JSON: {outcome:?}"),
    }
}

/// The name and message of what a script failed with.
pub fn failure(outcome: &Outcome) -> (&str, &str) {
    let error = outcome
        .error
        .as_ref()
        .unwrap_or_else(|| panic!("no failure: {outcome:?}"));
    (&error.name, &error.message)
}

pub fn short(time: u64) -> Limits {
    Limits {
        time: Duration::from_millis(time),
        ..Limits::default()
    }
}

type Respond = dyn Fn(&Request) -> Result<Response, Refusal> + Send + Sync;

/// An executor that keeps what it is asked for and answers by a function.
pub struct Recording {
    pub hits: Mutex<Vec<Request>>,
    respond: Box<Respond>,
}

impl Recording {
    pub fn new(respond: impl Fn(&Request) -> Result<Response, Refusal> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            hits: Mutex::default(),
            respond: Box::new(respond),
        })
    }

    /// Answers with what it was asked for, as JSON: method, url, headers, body.
    pub fn echo() -> Arc<Self> {
        Self::new(|request| Ok(answer(200, request, echo_text(request).as_bytes())))
    }

    pub fn urls(&self) -> Vec<String> {
        urls_of(&self.hits.lock().unwrap())
    }
}

pub fn urls_of(hits: &[Request]) -> Vec<String> {
    hits.iter().map(|hit| hit.url().to_string()).collect()
}

pub fn echo_text(request: &Request) -> String {
    let quoted = |text: &str| seam_contract::json::write(&seam_contract::json::Value::string(text));
    let headers: Vec<_> = request
        .headers()
        .iter()
        .map(|(n, v)| format!("[{},{}]", quoted(n), quoted(v)))
        .collect();
    let body = match request.body() {
        Some(body) => quoted(&String::from_utf8_lossy(body)),
        None => "null".into(),
    };
    format!(
        r#"{{"method":{},"url":{},"headers":[{}],"body":{body}}}"#,
        quoted(request.method()),
        quoted(request.url().as_str()),
        headers.join(",")
    )
}

pub fn answer(status: u64, request: &Request, body: &[u8]) -> Response {
    let headers = Headers::new([("content-type", "application/json"), ("x-one", "1")]).unwrap();
    Response::new(200, request.url().as_str())
        .and_then(|response| response.with_status(status))
        .and_then(|response| response.with_headers(headers).with_body(body.to_vec().into()))
        .unwrap()
}

impl Executor for Recording {
    fn execute<'a>(&'a self, _cx: &'a Cx, operation: Operation) -> BoxFuture<'a, Result<Output, Refusal>> {
        let Operation::Fetch(request) = operation;
        self.hits.lock().unwrap().push(request.clone());
        let answer = (self.respond)(&request).map(Output::Fetch);
        Box::pin(async move { answer })
    }
}

/// An executor that never answers, and tells whether its futures were dropped.
#[derive(Default)]
pub struct Hanging {
    pub begun: Arc<Mutex<usize>>,
    pub dropped: Arc<Mutex<usize>>,
}

impl Executor for Hanging {
    fn execute<'a>(&'a self, _cx: &'a Cx, _operation: Operation) -> BoxFuture<'a, Result<Output, Refusal>> {
        struct Gone(Arc<Mutex<usize>>);
        impl Drop for Gone {
            fn drop(&mut self) {
                *self.0.lock().unwrap() += 1;
            }
        }
        *self.begun.lock().unwrap() += 1;
        let gone = Gone(self.dropped.clone());
        Box::pin(async move {
            let _gone = gone;
            pending().await
        })
    }
}

/// A pre hook that keeps the documents it sees and judges by a function of the URL.
pub struct Watching {
    pub documents: Mutex<Vec<String>>,
    judge: Box<Judge>,
}

type Judge = dyn Fn(&Request) -> Result<Verdict<Operation>, Error> + Send + Sync;

impl Watching {
    pub fn new(judge: impl Fn(&Request) -> Result<Verdict<Operation>, Error> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            documents: Mutex::default(),
            judge: Box::new(judge),
        })
    }

    pub fn silent() -> Arc<Self> {
        Self::new(|_| Ok(Verdict::Abstain))
    }
}

impl PreHook for Watching {
    fn name(&self) -> &str {
        "watching"
    }

    fn limit(&self) -> Option<Duration> {
        None
    }

    fn judge<'a>(&'a self, cx: &'a Cx, input: &'a Operation) -> BoxFuture<'a, Result<Verdict<Operation>, Error>> {
        let document = document::input(cx.call(), input, Bodies::Given);
        self.documents
            .lock()
            .unwrap()
            .push(seam_contract::json::write(&document));
        let Operation::Fetch(request) = input;
        let verdict = (self.judge)(request);
        Box::pin(async move {
            // A hook that takes a moment: operations overlap.
            tokio::task::yield_now().await;
            verdict
        })
    }
}

/// A seam whose fetch passes this hook to this executor.
pub fn seam(hook: Option<Arc<Watching>>, executor: Arc<dyn Executor>) -> Seam {
    let hooks = hook.into_iter().map(|hook| hook as Arc<dyn PreHook>).collect();
    let layers: Vec<Arc<dyn Layer>> = Stack::chain(hooks, Vec::new(), Vec::new());
    Seam {
        fetch: Some(Stack::new(OperationKind::Fetch, layers, executor).unwrap()),
    }
}

/// Runs a script whose fetch is answered by this executor.
pub fn fetching(code: &str, executor: Arc<dyn Executor>) -> Outcome {
    let code = code.to_owned();
    on_host(async move { run_with(&code, Limits::default(), &seam(None, executor)).await })
}

pub fn effect_failed(message: &str) -> Refusal {
    Error::new(ErrorKind::EffectFailed, message).into()
}
