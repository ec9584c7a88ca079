//! Functions of a hook file as places in a stack.

use std::{sync::Arc, time::Duration};

use futures::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use seam_contract::{
    Cx, Error, Executor, Layer, Next, Operation, Output, PostHook, PreHook, Refusal, Verdict,
    document::{self, Bodies},
    json,
};
use tokio::sync::mpsc;

use crate::{
    call::{Asked, End, Line, Part, Task},
    file::JsFile,
};

/// One function of a file, with the terms of its source.
pub(crate) struct Place {
    pub(crate) file: Arc<JsFile>,
    pub(crate) rule: Arc<str>,
    pub(crate) limit: Duration,
    pub(crate) bodies: Bodies,
}

impl Place {
    fn ask(&self, cx: &Cx, input: &Operation, role: Part) -> Result<Asked, Error> {
        let task = Task::Run {
            rule: self.rule.clone(),
            call: cx.call().clone(),
            bodies: self.bodies,
            input: input.clone(),
            role,
        };
        self.file.enqueue(task, Some(self.limit))
    }

    /// The answer of a hook that judges.
    async fn judged(&self, cx: &Cx, input: &Operation, role: Part) -> Result<Option<String>, Error> {
        match self.ask(cx, input, role)?.end().await? {
            End::Nothing => Ok(None),
            End::Json(text) => Ok(Some(text)),
            End::Threw(thrown) => Err(Error::hook(format!("threw {}", thrown.text))),
            End::Failed(error) => Err(error),
        }
    }
}

/// A function as a pre hook.
pub(crate) struct JsPre(pub(crate) Place);

impl PreHook for JsPre {
    fn name(&self) -> &str {
        self.0.file.name()
    }

    /// Kept here, because the wait in the queue does not count.
    fn limit(&self) -> Option<Duration> {
        None
    }

    fn judge<'a>(&'a self, cx: &'a Cx, input: &'a Operation) -> BoxFuture<'a, Result<Verdict<Operation>, Error>> {
        Box::pin(async move {
            let answer = self.0.judged(cx, input, Part::Pre).await?;
            document::pre_verdict(cx.call(), input, self.0.bodies, answer.as_deref())
        })
    }
}

/// A function as a post hook.
pub(crate) struct JsPost(pub(crate) Place);

impl PostHook for JsPost {
    fn name(&self) -> &str {
        self.0.file.name()
    }

    /// Kept here, because the wait in the queue does not count.
    fn limit(&self) -> Option<Duration> {
        None
    }

    fn judge<'a>(
        &'a self,
        cx: &'a Cx,
        input: &'a Operation,
        output: &'a Output,
    ) -> BoxFuture<'a, Result<Verdict<Output>, Error>> {
        Box::pin(async move {
            let role = Part::Post { output: output.clone() };
            let answer = self.0.judged(cx, input, role).await?;
            document::post_verdict(output, answer.as_deref())
        })
    }
}

/// A function as a layer.
pub(crate) struct JsLayer(pub(crate) Place);

impl Layer for JsLayer {
    fn name(&self) -> &str {
        self.0.file.name()
    }

    /// Kept here, because the wait in the queue does not count.
    fn limit(&self) -> Option<Duration> {
        None
    }

    fn handle<'a>(&'a self, cx: &'a Cx, operation: Operation, next: Next) -> BoxFuture<'a, Result<Output, Refusal>> {
        Box::pin(async move {
            let (down, mut descents) = mpsc::unbounded_channel();
            let (settled, up) = mpsc::unbounded_channel();
            let role = Part::Layer {
                line: Line { down, up },
            };
            let mut asked = self.0.ask(cx, &operation, role)?;
            let mut running = FuturesUnordered::new();
            let mut last = None;
            let end = loop {
                tokio::select! {
                    biased;
                    end = asked.end() => break end?,
                    Some((id, input)) = descents.recv() => {
                        let descent = self.descend(cx, &operation, &next, input);
                        running.push(async move { (id, descent.await) });
                    }
                    Some((id, end)) = running.next(), if !running.is_empty() => {
                        if let Ok(output) = &end {
                            last = Some(output.clone());
                        }
                        // Fails where the worker crashed; `asked` says so.
                        let _ = settled.send((id, end));
                    }
                }
            };
            // The layer has settled: what it started and did not wait for ends here.
            drop(running);
            answered(cx, &operation, end, last)
        })
    }
}

impl JsLayer {
    /// One descent, from the text that script sent down.
    async fn descend(&self, cx: &Cx, operation: &Operation, next: &Next, input: String) -> Result<Output, Refusal> {
        let input = json::parse(&input).map_err(|error| error.of_kind(seam_contract::ErrorKind::HookFailed));
        let input = input.and_then(|input| document::read_input(cx.call(), operation, self.0.bodies, &input));
        next.run(input.map_err(|error| error.at(cx.role(), cx.name()))?).await
    }
}

/// A function as the innermost place.
pub(crate) struct JsExecutor(pub(crate) Place);

impl Executor for JsExecutor {
    fn name(&self) -> &str {
        self.0.file.name()
    }

    fn execute<'a>(&'a self, cx: &'a Cx, operation: Operation) -> BoxFuture<'a, Result<Output, Refusal>> {
        Box::pin(async move {
            let end = self.0.ask(cx, &operation, Part::Executor)?.end().await?;
            answered(cx, &operation, end, None)
        })
    }
}

/// What a layer or an executor gives for an operation. `last` is what the rest of the
/// stack gave last: handed on unchanged, it stays the very output, repeated header fields
/// included, which a document cannot show.
fn answered(cx: &Cx, operation: &Operation, end: End, last: Option<Output>) -> Result<Output, Refusal> {
    match end {
        End::Json(text) => {
            let answer = json::parse(&text).map_err(|error| error.of_kind(seam_contract::ErrorKind::HookFailed))?;
            match last.filter(|last| document::output(last) == answer) {
                Some(last) => Ok(last),
                None => Ok(document::read_output(operation, &answer)?),
            }
        }
        End::Nothing => Err(Error::hook("returned nothing; it must return an output document").into()),
        End::Threw(thrown) => match (thrown.refusal, thrown.denial) {
            (Some(refusal), _) => Err(refusal),
            (None, Some(reason)) => Err(cx.deny(reason)),
            (None, None) => Err(Error::hook(format!("threw {}", thrown.text)).into()),
        },
        End::Failed(error) => Err(error.into()),
    }
}
