//! The typed roles of `fetch`.

use std::time::Duration;

use futures::future::BoxFuture;
use seam_contract::{Cx, Error, Executor, Layer, Next, Operation, Output, PostHook, PreHook, Refusal, Verdict, fetch};

use super::{Hook, kept, refusal, said};
use crate::{
    bindings::{
        exports::seam::hooks::{fetch_executor, fetch_layer, fetch_post, fetch_pre},
        seam::hooks::call,
    },
    limits::CROSSING,
    session::Session,
    values::{Context, FetchNext, Request, Response},
};

impl PreHook for Hook<fetch_pre::GuestIndices> {
    fn name(&self) -> &str {
        &self.terms.component.name
    }

    fn limit(&self) -> Option<Duration> {
        Some(self.terms.limit)
    }

    fn judge<'a>(&'a self, cx: &'a Cx, input: &'a Operation) -> BoxFuture<'a, Result<Verdict<Operation>, Error>> {
        Box::pin(async move {
            let Operation::Fetch(request) = input;
            let mut session = self.terms.start(cx, input, CROSSING).await?;
            let end = self.ask(&mut session, request).await;
            Ok(match session.settled(end)?.map_err(said)? {
                fetch_pre::Verdict::Abstain => Verdict::Abstain,
                fetch_pre::Verdict::Allow(reason) => Verdict::Allow { reason: kept(reason) },
                fetch_pre::Verdict::Deny(reason) => Verdict::Deny { reason: kept(reason) },
                fetch_pre::Verdict::Rewrite(rewrite) => Verdict::Rewrite {
                    to: Operation::Fetch(session.take(rewrite.input)?.value),
                    reason: kept(rewrite.reason),
                },
            })
        })
    }
}

impl Hook<fetch_pre::GuestIndices> {
    async fn ask(
        &self,
        session: &mut Session,
        request: &fetch::Request,
    ) -> wasmtime::Result<Result<fetch_pre::Verdict, String>> {
        let guest = self.door.load(&mut session.store, &session.instance)?;
        let state = session.store.data_mut();
        let cx = state.lend(Context)?;
        let input = state.lend(Request::held(request.clone()))?;
        guest.call_pre(&mut session.store, cx, input).await
    }
}

impl PostHook for Hook<fetch_post::GuestIndices> {
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
            let (Operation::Fetch(request), Output::Fetch(response)) = (input, output);
            let mut session = self.terms.start(cx, input, CROSSING).await?;
            let end = self.ask(&mut session, request, response).await;
            Ok(match session.settled(end)?.map_err(said)? {
                fetch_post::Verdict::Abstain => Verdict::Abstain,
                fetch_post::Verdict::Allow(reason) => Verdict::Allow { reason: kept(reason) },
                fetch_post::Verdict::Deny(reason) => Verdict::Deny { reason: kept(reason) },
                fetch_post::Verdict::Rewrite(rewrite) => Verdict::Rewrite {
                    to: Output::Fetch(session.take(rewrite.output)?.value),
                    reason: kept(rewrite.reason),
                },
            })
        })
    }
}

impl Hook<fetch_post::GuestIndices> {
    async fn ask(
        &self,
        session: &mut Session,
        request: &fetch::Request,
        response: &fetch::Response,
    ) -> wasmtime::Result<Result<fetch_post::Verdict, String>> {
        let guest = self.door.load(&mut session.store, &session.instance)?;
        let state = session.store.data_mut();
        let cx = state.lend(Context)?;
        let input = state.lend(Request::held(request.clone()))?;
        let output = state.lend(Response::held(response.clone()))?;
        guest.call_post(&mut session.store, cx, input, output).await
    }
}

impl Layer for Hook<fetch_layer::GuestIndices> {
    fn name(&self) -> &str {
        &self.terms.component.name
    }

    fn limit(&self) -> Option<Duration> {
        Some(self.terms.limit)
    }

    fn handle<'a>(&'a self, cx: &'a Cx, operation: Operation, next: Next) -> BoxFuture<'a, Result<Output, Refusal>> {
        Box::pin(async move {
            let mut session = match self.terms.start(cx, &operation, CROSSING).await {
                Ok(session) => session,
                Err(error) => return Err(cx.fail(error)),
            };
            let Operation::Fetch(request) = operation;
            let end = self.ask(&mut session, request, next).await;
            answered(cx, &mut session, end)
        })
    }
}

impl Hook<fetch_layer::GuestIndices> {
    async fn ask(&self, session: &mut Session, request: fetch::Request, next: Next) -> wasmtime::Result<Answer> {
        let guest = self.door.load(&mut session.store, &session.instance)?;
        let state = session.store.data_mut();
        let cx = state.lend(Context)?;
        let input = state.lend(Request::held(request))?;
        let next = state.lend(FetchNext(next))?;
        guest.call_handle(&mut session.store, cx, input, next).await
    }
}

impl Executor for Hook<fetch_executor::GuestIndices> {
    fn name(&self) -> &str {
        &self.terms.component.name
    }

    fn limit(&self) -> Option<Duration> {
        Some(self.terms.limit)
    }

    fn execute<'a>(&'a self, cx: &'a Cx, operation: Operation) -> BoxFuture<'a, Result<Output, Refusal>> {
        Box::pin(async move {
            let mut session = match self.terms.start(cx, &operation, CROSSING).await {
                Ok(session) => session,
                Err(error) => return Err(cx.fail(error)),
            };
            let Operation::Fetch(request) = operation;
            let end = self.ask(&mut session, request).await;
            answered(cx, &mut session, end)
        })
    }
}

impl Hook<fetch_executor::GuestIndices> {
    async fn ask(&self, session: &mut Session, request: fetch::Request) -> wasmtime::Result<Answer> {
        let guest = self.door.load(&mut session.store, &session.instance)?;
        let state = session.store.data_mut();
        let cx = state.lend(Context)?;
        let input = state.lend(Request::held(request))?;
        guest.call_execute(&mut session.store, cx, input).await
    }
}

/// What a layer or an executor returns.
type Answer = Result<wasmtime::component::Resource<Response>, call::Refusal>;

/// The output or the refusal that a layer or an executor ended with.
fn answered(cx: &Cx, session: &mut Session, end: wasmtime::Result<Answer>) -> Result<Output, Refusal> {
    match session.settled(end) {
        Ok(Ok(response)) => match session.take(response) {
            Ok(response) => Ok(Output::Fetch(response.value)),
            Err(error) => Err(cx.fail(error)),
        },
        Ok(Err(chosen)) => Err(refusal(cx, session, chosen)),
        Err(error) => Err(cx.fail(error)),
    }
}
