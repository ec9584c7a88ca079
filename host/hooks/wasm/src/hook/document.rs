//! The roles at the JSON door, for any operation.

use std::time::Duration;

use futures::future::BoxFuture;
use seam_contract::{
    Cx, Error, ErrorKind, Executor, Layer, Next, Operation, Output, PostHook, PreHook, Refusal, Verdict, document, json,
};

use super::{Hook, kept, refusal, said};
use crate::{
    bindings::{
        exports::seam::hooks::{document_executor, document_layer, document_post, document_pre},
        seam::hooks::call,
    },
    limits::DOCUMENT_CROSSING,
    session::Session,
    values::{Context, DocumentNext},
};

impl PreHook for Hook<document_pre::GuestIndices> {
    fn name(&self) -> &str {
        &self.terms.component.name
    }

    fn limit(&self) -> Option<Duration> {
        Some(self.terms.limit)
    }

    fn judge<'a>(&'a self, cx: &'a Cx, input: &'a Operation) -> BoxFuture<'a, Result<Verdict<Operation>, Error>> {
        Box::pin(async move {
            let mut session = self.terms.start(cx, input, DOCUMENT_CROSSING).await?;
            let text = json::write(&document::input(cx.call(), input, self.terms.bodies));
            let end = self.ask(&mut session, input, &text).await;
            let answer = session.settled(end)?.map_err(said)?;
            document::pre_verdict(cx.call(), input, self.terms.bodies, answer.as_deref()).map(bounded)
        })
    }
}

impl Hook<document_pre::GuestIndices> {
    async fn ask(
        &self,
        session: &mut Session,
        input: &Operation,
        text: &str,
    ) -> wasmtime::Result<Result<Option<String>, String>> {
        let guest = self.door.load(&mut session.store, &session.instance)?;
        let cx = session.store.data_mut().lend(Context)?;
        guest.call_pre(&mut session.store, cx, input.kind().name(), text).await
    }
}

impl PostHook for Hook<document_post::GuestIndices> {
    fn name(&self) -> &str {
        &self.terms.component.name
    }

    fn limit(&self) -> Option<Duration> {
        Some(self.terms.limit)
    }

    fn judge<'a>(
        &'a self,
        cx: &'a Cx,
        input: &'a Operation,
        output: &'a Output,
    ) -> BoxFuture<'a, Result<Verdict<Output>, Error>> {
        Box::pin(async move {
            let mut session = self.terms.start(cx, input, DOCUMENT_CROSSING).await?;
            let text = json::write(&document::both(cx.call(), input, output, self.terms.bodies));
            let end = self.ask(&mut session, input, &text).await;
            let answer = session.settled(end)?.map_err(said)?;
            document::post_verdict(output, answer.as_deref()).map(bounded)
        })
    }
}

impl Hook<document_post::GuestIndices> {
    async fn ask(
        &self,
        session: &mut Session,
        input: &Operation,
        text: &str,
    ) -> wasmtime::Result<Result<Option<String>, String>> {
        let guest = self.door.load(&mut session.store, &session.instance)?;
        let cx = session.store.data_mut().lend(Context)?;
        guest.call_post(&mut session.store, cx, input.kind().name(), text).await
    }
}

impl Layer for Hook<document_layer::GuestIndices> {
    fn name(&self) -> &str {
        &self.terms.component.name
    }

    fn limit(&self) -> Option<Duration> {
        Some(self.terms.limit)
    }

    fn handle<'a>(&'a self, cx: &'a Cx, operation: Operation, next: Next) -> BoxFuture<'a, Result<Output, Refusal>> {
        Box::pin(async move {
            let mut session = match self.terms.start(cx, &operation, DOCUMENT_CROSSING).await {
                Ok(session) => session,
                Err(error) => return Err(cx.fail(error)),
            };
            let text = json::write(&document::input(cx.call(), &operation, self.terms.bodies));
            let end = self.ask(&mut session, &operation, &text, next).await;
            answered(cx, &mut session, &operation, end)
        })
    }
}

impl Hook<document_layer::GuestIndices> {
    async fn ask(
        &self,
        session: &mut Session,
        operation: &Operation,
        text: &str,
        next: Next,
    ) -> wasmtime::Result<Answer> {
        let guest = self.door.load(&mut session.store, &session.instance)?;
        let state = session.store.data_mut();
        let cx = state.lend(Context)?;
        let next = state.lend(DocumentNext(next))?;
        guest
            .call_handle(&mut session.store, cx, operation.kind().name(), text, next)
            .await
    }
}

impl Executor for Hook<document_executor::GuestIndices> {
    fn name(&self) -> &str {
        &self.terms.component.name
    }

    fn limit(&self) -> Option<Duration> {
        Some(self.terms.limit)
    }

    fn execute<'a>(&'a self, cx: &'a Cx, operation: Operation) -> BoxFuture<'a, Result<Output, Refusal>> {
        Box::pin(async move {
            let mut session = match self.terms.start(cx, &operation, DOCUMENT_CROSSING).await {
                Ok(session) => session,
                Err(error) => return Err(cx.fail(error)),
            };
            let text = json::write(&document::input(cx.call(), &operation, self.terms.bodies));
            let end = self.ask(&mut session, &operation, &text).await;
            answered(cx, &mut session, &operation, end)
        })
    }
}

impl Hook<document_executor::GuestIndices> {
    async fn ask(&self, session: &mut Session, operation: &Operation, text: &str) -> wasmtime::Result<Answer> {
        let guest = self.door.load(&mut session.store, &session.instance)?;
        let cx = session.store.data_mut().lend(Context)?;
        guest
            .call_execute(&mut session.store, cx, operation.kind().name(), text)
            .await
    }
}

/// What a layer or an executor returns.
type Answer = Result<String, call::Refusal>;

/// The output or the refusal that a layer or an executor ended with.
fn answered(
    cx: &Cx,
    session: &mut Session,
    operation: &Operation,
    end: wasmtime::Result<Answer>,
) -> Result<Output, Refusal> {
    let read = match session.settled(end) {
        Ok(Ok(text)) => json::parse(&text)
            .map_err(|error| error.of_kind(ErrorKind::HookFailed))
            .and_then(|answer| document::read_output(operation, &answer)),
        Ok(Err(chosen)) => return Err(refusal(cx, session, chosen)),
        Err(error) => Err(error),
    };
    read.map_err(|error| cx.fail(error))
}

/// The verdict with a reason as long as records keep it.
fn bounded<T>(verdict: Verdict<T>) -> Verdict<T> {
    match verdict {
        Verdict::Abstain => Verdict::Abstain,
        Verdict::Allow { reason } => Verdict::Allow { reason: kept(reason) },
        Verdict::Deny { reason } => Verdict::Deny { reason: kept(reason) },
        Verdict::Rewrite { to, reason } => Verdict::Rewrite {
            to,
            reason: kept(reason),
        },
    }
}
