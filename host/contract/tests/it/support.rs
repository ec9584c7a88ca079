//! A recording executor, hooks out of closures, and short ways to make values.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use seam_contract::{
    Caller, Cx, Error, ErrorKind, Executor, Layer, Next, Operation, OperationKind, Output, PostHook, PreHook, Refusal,
    Stack, Verdict,
    fetch::{Request, Response},
    headers::Headers,
    record::{Record, Recorder},
};

/// What the executor saw, in order, as `METHOD url`.
#[derive(Clone, Default)]
pub struct Seen(Arc<Mutex<Vec<Operation>>>);

impl Seen {
    pub fn list(&self) -> Vec<String> {
        let seen = self.0.lock().unwrap();
        seen.iter()
            .map(|Operation::Fetch(request)| format!("{} {}", request.method(), request.url()))
            .collect()
    }
}

/// Answers 200 with the URL it saw as body; `/fail` fails, `/hang` never answers.
pub struct Recording(pub Seen);

impl Executor for Recording {
    fn execute<'a>(&'a self, _: &'a Cx, operation: Operation) -> BoxFuture<'a, Result<Output, Refusal>> {
        async move {
            let Operation::Fetch(request) = &operation;
            self.0.0.lock().unwrap().push(operation.clone());
            match request.url().path() {
                "/fail" => Err(Error::new(ErrorKind::EffectFailed, "connection reset").into()),
                "/hang" => std::future::pending().await,
                _ => {
                    let answer = Response::new(200, request.url().as_str())?;
                    let body = request.url().as_str().to_owned().into_bytes();
                    Ok(Output::Fetch(
                        answer
                            .with_headers(Headers::new([("x-from", "server")])?)
                            .with_body(body.into())?,
                    ))
                }
            }
        }
        .boxed()
    }
}

type Judge = dyn Fn(&Request) -> Result<Verdict<Operation>, Error> + Send + Sync;

/// A pre hook out of a closure.
pub struct Pre(pub &'static str, pub Box<Judge>);

impl PreHook for Pre {
    fn name(&self) -> &str {
        self.0
    }

    fn limit(&self) -> Option<Duration> {
        Some(Duration::from_secs(5))
    }

    fn judge<'a>(
        &'a self,
        _: &'a Cx,
        Operation::Fetch(input): &'a Operation,
    ) -> BoxFuture<'a, Result<Verdict<Operation>, Error>> {
        async move { (self.1)(input) }.boxed()
    }
}

pub fn pre(
    name: &'static str,
    judge: impl Fn(&Request) -> Result<Verdict<Operation>, Error> + Send + Sync + 'static,
) -> Arc<dyn PreHook> {
    Arc::new(Pre(name, Box::new(judge)))
}

pub fn appends(name: &'static str, suffix: &'static str) -> Arc<dyn PreHook> {
    pre(name, move |input| {
        let to = input.with_url(&format!("{}{suffix}", input.url()))?;
        Ok(Verdict::Rewrite {
            to: Operation::Fetch(to),
            reason: None,
        })
    })
}

type JudgeOutput = dyn Fn(&Request, &Response) -> Result<Verdict<Output>, Error> + Send + Sync;

struct Post(&'static str, Box<JudgeOutput>);

impl PostHook for Post {
    fn name(&self) -> &str {
        self.0
    }

    fn limit(&self) -> Option<Duration> {
        Some(Duration::from_secs(5))
    }

    fn judge<'a>(
        &'a self,
        _: &'a Cx,
        Operation::Fetch(input): &'a Operation,
        Output::Fetch(output): &'a Output,
    ) -> BoxFuture<'a, Result<Verdict<Output>, Error>> {
        async move { (self.1)(input, output) }.boxed()
    }
}

pub fn post(
    name: &'static str,
    judge: impl Fn(&Request, &Response) -> Result<Verdict<Output>, Error> + Send + Sync + 'static,
) -> Arc<dyn PostHook> {
    Arc::new(Post(name, Box::new(judge)))
}

pub fn marks(name: &'static str, mark: &'static str) -> Arc<dyn PostHook> {
    post(name, move |_, output| {
        let body = [output.body().as_ref(), mark.as_bytes()].concat();
        Ok(Verdict::Rewrite {
            to: Output::Fetch(output.with_body(body.into())?),
            reason: None,
        })
    })
}

type Handle = dyn Fn(Cx, Operation, Next) -> BoxFuture<'static, Result<Output, Refusal>> + Send + Sync;

/// A layer out of a closure.
pub struct Around(pub &'static str, pub Option<Duration>, pub Box<Handle>);

impl Layer for Around {
    fn name(&self) -> &str {
        self.0
    }

    fn limit(&self) -> Option<Duration> {
        self.1
    }

    fn handle<'a>(&'a self, cx: &'a Cx, operation: Operation, next: Next) -> BoxFuture<'a, Result<Output, Refusal>> {
        (self.2)(cx.clone(), operation, next)
    }
}

pub fn around<F>(
    name: &'static str,
    handle: impl Fn(Cx, Operation, Next) -> F + Send + Sync + 'static,
) -> Arc<dyn Layer>
where
    F: Future<Output = Result<Output, Refusal>> + Send + 'static,
{
    around_within(None, name, handle)
}

pub fn around_within<F>(
    limit: Option<Duration>,
    name: &'static str,
    handle: impl Fn(Cx, Operation, Next) -> F + Send + Sync + 'static,
) -> Arc<dyn Layer>
where
    F: Future<Output = Result<Output, Refusal>> + Send + 'static,
{
    Arc::new(Around(
        name,
        limit,
        Box::new(move |cx, operation, next| handle(cx, operation, next).boxed()),
    ))
}

/// Keeps every record.
#[derive(Default)]
pub struct Records(pub Mutex<Vec<Record>>);

impl Recorder for Records {
    fn record(&self, record: Record) {
        self.0.lock().unwrap().push(record);
    }
}

pub fn get(url: &str) -> Operation {
    Operation::Fetch(Request::new("GET", url, Headers::default(), None).unwrap())
}

pub fn stack(layers: Vec<Arc<dyn Layer>>) -> (Arc<Stack>, Seen) {
    let seen = Seen::default();
    (
        Stack::new(OperationKind::Fetch, layers, Arc::new(Recording(seen.clone()))).unwrap(),
        seen,
    )
}

pub async fn run(stack: &Arc<Stack>, url: &str) -> Result<Output, Refusal> {
    stack.run(Arc::new(Caller::new("test")), get(url)).await
}

/// The end of a run as one line: the body of an answer, or the text the script would see.
pub fn shown(end: &Result<Output, Refusal>) -> String {
    match end {
        Ok(Output::Fetch(response)) => String::from_utf8_lossy(response.body()).into_owned(),
        Err(refusal) => refusal.message("fetch", "T"),
    }
}
