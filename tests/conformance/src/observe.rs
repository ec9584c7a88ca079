//! Runs a case through a real `Stack` and takes down everything that happened.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use bytes::Bytes;
use futures::future::BoxFuture;
use seam_contract::{
    Caller, Cx, Denial, Error, ErrorKind, Executor, Layer, Operation, OperationKind, Output, Refusal, Role, Stack,
    fetch::{Request, Response},
    headers::Headers,
    record::{Record, Recorder},
};

use crate::case::{Answer, Case, Effect, Fields, Outcome};

/// Everything that came of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// How the operation ended.
    pub outcome: Outcome,
    /// What each place made of it, as a line: decision, fields, reason.
    pub steps: Vec<String>,
    /// The error that the script would get.
    pub message: Option<String>,
    /// Every request that took effect.
    pub sent: Vec<Message>,
    /// The answer that the script would get.
    pub answer: Option<Message>,
}

/// A request or an answer, with its parts as texts by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Single parts, such as `url`.
    pub parts: Vec<(&'static str, String)>,
    /// Header fields, sorted by name. The order of different names means nothing in HTTP
    /// and a JSON object keeps none; that of equal names does and is kept.
    pub headers: Vec<(String, String)>,
}

/// Runs one case with these layers, outermost first.
pub async fn observe(case: &Case, layers: Vec<Arc<dyn Layer>>) -> Result<Observed> {
    let effect = Arc::new(Effects::new(case));
    let records = Arc::new(Records::default());
    let stack = Stack::new(OperationKind::Fetch, layers, effect.clone())?;
    let mut caller = Caller::new("conformance");
    caller.recorder = Some(records.clone());

    let request = request(case)?;
    let target = request.target();
    let end = stack.run(Arc::new(caller), Operation::Fetch(request)).await;
    let (outcome, message, answer) = match &end {
        Ok(Output::Fetch(response)) => (Outcome::Answered, None, Some(answer_message(response))),
        Err(refusal) => {
            let outcome = match refusal {
                Refusal::Denied(_) => Outcome::Denied,
                Refusal::Failed(_) => Outcome::Failed,
            };
            (outcome, Some(refusal.message("fetch", &target)), None)
        }
    };
    let record = records.take().context("the operation is not on record")?;
    Ok(Observed {
        outcome,
        steps: lines(&record),
        message,
        sent: effect.take().iter().map(request_message).collect(),
        answer,
    })
}

/// The request that a case sends.
pub fn request(case: &Case) -> Result<Request> {
    let request = &case.request;
    let body = request.body.clone().map(Bytes::from);
    Request::new(&request.method, &request.url, headers(&request.headers)?, body)
        .with_context(|| format!("{}: the request of the case is invalid", case.name))
}

/// The answer that an effect gives to a request.
pub fn response(request: &Request, answer: &Answer) -> Result<Response, Error> {
    let response = Response::new(answer.status, request.url().as_str())?
        .with_status_text(&answer.status_text)?
        .with_body(answer.body.clone().into())?;
    Ok(response.with_headers(headers(&answer.headers)?))
}

/// A request as texts.
pub fn request_message(request: &Request) -> Message {
    let body = request
        .body()
        .map_or("none".into(), |body| String::from_utf8_lossy(body).into_owned());
    Message {
        parts: vec![
            ("method", request.method().to_owned()),
            ("url", request.url().as_str().to_owned()),
            ("body", body),
        ],
        headers: sorted(request.headers())
            .filter(|(name, _)| !name.starts_with("x-case"))
            .collect(),
    }
}

/// An answer as texts.
pub fn answer_message(response: &Response) -> Message {
    Message {
        parts: vec![
            ("status", response.status().to_string()),
            ("statusText", response.status_text().to_owned()),
            ("url", response.url().as_str().to_owned()),
            ("body", String::from_utf8_lossy(response.body()).into_owned()),
        ],
        headers: sorted(response.headers()).collect(),
    }
}

/// The header fields of a case.
pub fn headers(fields: &Fields) -> Result<Headers, Error> {
    let fields = fields
        .iter()
        .flat_map(|(name, values)| values.all().iter().map(move |value| (name, value)));
    Headers::new(fields)
}

fn sorted(headers: &Headers) -> impl Iterator<Item = (String, String)> {
    let mut fields: Vec<_> = headers
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    // Stable: equal names keep their order.
    fields.sort_by(|a, b| a.0.cmp(&b.0));
    fields.into_iter()
}

fn lines(record: &Record) -> Vec<String> {
    let line = |step: &seam_contract::record::Step| {
        let mut line = step.decision.to_string();
        if !step.rewrote.is_empty() {
            line.push(' ');
            line.push_str(&step.rewrote.join(","));
        }
        if let Some(reason) = &step.reason {
            line.push_str(": ");
            line.push_str(reason);
        }
        line
    };
    record.steps.iter().map(line).collect()
}

/// The effect of a case: does what the case says and keeps what it was asked.
struct Effects {
    script: Vec<Effect>,
    seen: Mutex<Vec<Request>>,
}

impl Effects {
    fn new(case: &Case) -> Self {
        Self {
            script: case.effects.clone(),
            seen: Mutex::default(),
        }
    }

    fn take(&self) -> Vec<Request> {
        std::mem::take(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn answer(&self, request: Request) -> Result<Output, Refusal> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let effect = self.script.get(seen.len()).or(self.script.last()).cloned();
        seen.push(request.clone());
        match effect.unwrap_or_else(|| Effect::Answers(Answer::default())) {
            Effect::Fails { fails } => Err(Error::new(ErrorKind::EffectFailed, fails).into()),
            Effect::Denies { denies } => Err(Denial::new(Role::Executor, Some(denies)).into()),
            Effect::Answers(answer) => Ok(Output::Fetch(response(&request, &answer)?)),
        }
    }
}

impl Executor for Effects {
    fn execute<'a>(&'a self, _: &'a Cx, operation: Operation) -> BoxFuture<'a, Result<Output, Refusal>> {
        Box::pin(async move {
            let Operation::Fetch(request) = operation;
            self.answer(request)
        })
    }
}

/// Keeps the record of the one operation.
#[derive(Default)]
struct Records(Mutex<Option<Record>>);

impl Records {
    fn take(&self) -> Option<Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Recorder for Records {
    fn record(&self, record: Record) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(record);
    }
}
