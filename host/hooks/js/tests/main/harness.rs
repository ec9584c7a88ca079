//! Runs the tests, and gives them a stack around an executor that records.

use std::{
    future::Future,
    panic::AssertUnwindSafe,
    path::Path,
    process::ExitCode,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::future::BoxFuture;
use seam_contract::{
    Caller, Cx, Executor, Layer, Operation, OperationKind, Output, PostHook, PreHook, Refusal, Stack,
    document::Bodies,
    fetch::{Request, Response},
    headers::Headers,
};
use seam_hook_js::{JsFile, Options};

/// Long enough for everything that ends, whatever else the machine does.
pub const AMPLE: Duration = Duration::from_secs(60);

/// Short, for calls that can only end by their limit.
pub const SHORT: Duration = Duration::from_millis(150);

pub type Test = (&'static str, fn());

/// The named tests, each an async function without arguments.
macro_rules! tests {
    ($($module:ident::$name:ident),* $(,)?) => {
        &[$((
            concat!(stringify!($module), "::", stringify!($name)),
            (|| $crate::harness::block_on(crate::$module::$name())) as fn(),
        )),*]
    };
}
pub(crate) use tests;

/// Runs those tests whose name contains the first argument, if there is one.
pub fn run(tests: &[Test]) -> ExitCode {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let mut failed = Vec::new();
    let mut passed = 0;
    for (name, test) in tests {
        if wanted.as_ref().is_some_and(|wanted| !name.contains(wanted.as_str())) {
            continue;
        }
        match std::panic::catch_unwind(AssertUnwindSafe(test)) {
            Ok(()) => {
                passed += 1;
                println!("test {name} ... ok");
            }
            Err(_) => {
                failed.push(*name);
                println!("test {name} ... FAILED");
            }
        }
    }
    println!("\n{passed} passed, {} failed {failed:?}", failed.len());
    ExitCode::from(u8::from(!failed.is_empty()))
}

pub fn block_on(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(test);
}

pub async fn load(text: &str) -> Arc<JsFile> {
    load_with(text, Options::default()).await
}

pub async fn load_with(text: &str, options: Options) -> Arc<JsFile> {
    JsFile::load(Path::new("/hooks/hook.js"), text.to_owned(), options)
        .await
        .unwrap()
}

pub async fn load_error(text: &str) -> String {
    match JsFile::load(Path::new("/hooks/hook.js"), text.to_owned(), Options::default()).await {
        Ok(_) => panic!("it loaded: {text}"),
        Err(error) => error.to_string(),
    }
}

/// The function `pre` of a file, with ample time.
pub fn pre(file: &Arc<JsFile>) -> Arc<dyn PreHook> {
    file.pre_hook("pre", AMPLE, Bodies::Withheld).unwrap()
}

pub fn post(file: &Arc<JsFile>) -> Arc<dyn PostHook> {
    file.post_hook("post", AMPLE, Bodies::Withheld).unwrap()
}

pub fn layer(file: &Arc<JsFile>) -> Arc<dyn Layer> {
    file.layer("handle", AMPLE, Bodies::Withheld).unwrap()
}

type Answer = dyn Fn(&Request) -> BoxFuture<'static, Result<Response, Refusal>> + Send + Sync;

/// Performs nothing, keeps what it was asked, and answers as it was told to.
pub struct Recording {
    seen: Mutex<Vec<Request>>,
    answer: Box<Answer>,
}

impl Recording {
    /// Answers each request with status 200 and its method as body.
    pub fn echo() -> Arc<Self> {
        Self::new(|request| {
            let response = Response::new(200, request.url().as_str()).unwrap();
            let body = request.method().to_owned();
            Ok(response.with_body(body.into()).unwrap())
        })
    }

    pub fn new(answer: impl Fn(&Request) -> Result<Response, Refusal> + Send + Sync + 'static) -> Arc<Self> {
        Self::later(move |request| Box::pin(std::future::ready(answer(request))))
    }

    pub fn later(
        answer: impl Fn(&Request) -> BoxFuture<'static, Result<Response, Refusal>> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            seen: Mutex::default(),
            answer: Box::new(answer),
        })
    }

    pub fn urls(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        seen.iter().map(|request| request.url().to_string()).collect()
    }

    pub fn last(&self) -> Request {
        self.seen.lock().unwrap().last().expect("it was never asked").clone()
    }

    pub fn count(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

impl Executor for Recording {
    fn execute<'a>(&'a self, _cx: &'a Cx, operation: Operation) -> BoxFuture<'a, Result<Output, Refusal>> {
        let Operation::Fetch(request) = operation;
        self.seen.lock().unwrap().push(request.clone());
        let answer = (self.answer)(&request);
        Box::pin(async move { answer.await.map(Output::Fetch) })
    }
}

pub fn get(url: &str) -> Operation {
    Operation::Fetch(Request::new("GET", url, Headers::default(), None).unwrap())
}

pub fn get_with(url: &str, headers: &[(&str, &str)]) -> Operation {
    let headers = Headers::new(headers.iter().copied()).unwrap();
    Operation::Fetch(Request::new("GET", url, headers, None).unwrap())
}

pub fn stack(layers: Vec<Arc<dyn Layer>>, executor: Arc<dyn Executor>) -> Arc<Stack> {
    Stack::new(OperationKind::Fetch, layers, executor).unwrap()
}

pub async fn send(stack: &Arc<Stack>, operation: Operation) -> Result<Response, Refusal> {
    let caller = Arc::new(Caller::new("test"));
    stack.run(caller, operation).await.map(|output| {
        let Output::Fetch(response) = output;
        response
    })
}

/// How an operation ended, as one line.
pub fn told(end: &Result<Response, Refusal>) -> String {
    match end {
        Ok(response) => format!("{}", response.status()),
        Err(refusal) => refusal.message("fetch", "T"),
    }
}

/// How a GET through these pre hooks ends, and what the executor saw.
pub async fn through_pre(hooks: Vec<Arc<dyn PreHook>>, operation: Operation) -> (String, Vec<String>) {
    let recording = Recording::echo();
    let stack = stack(Stack::chain(hooks, Vec::new(), Vec::new()), recording.clone());
    let end = send(&stack, operation).await;
    (told(&end), recording.urls())
}
