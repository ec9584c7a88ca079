//! `fetch-next` and `document-next`: the way down the stack.

use seam_contract::{ErrorKind, Operation, Output, Refusal, document, json};
use wasmtime::component::Resource;

use crate::{
    bindings::seam::hooks::{
        document_next::{self, HostNext as HostDocumentNext},
        fetch_next::{self, HostNext as HostFetchNext},
    },
    state::State,
    values::{DocumentNext, FetchNext, Request, Response},
};

impl fetch_next::Host for State {}

impl HostFetchNext for State {
    async fn run(
        &mut self,
        next: Resource<FetchNext>,
        request: Resource<Request>,
    ) -> wasmtime::Result<Result<Resource<Response>, Resource<Refusal>>> {
        let next = self.table.get(&next)?.0.clone();
        let request = self.table.get(&request)?.value.clone();
        match next.run(Operation::Fetch(request)).await {
            Ok(Output::Fetch(response)) => {
                let kept = Response::kept(response, &self.budget)?;
                Ok(Ok(self.push(kept)?))
            }
            Err(refusal) => Ok(Err(self.push(refusal)?)),
        }
    }

    fn drop(&mut self, next: Resource<FetchNext>) -> wasmtime::Result<()> {
        self.table.delete(next)?;
        Ok(())
    }
}

impl document_next::Host for State {}

impl HostDocumentNext for State {
    async fn run(
        &mut self,
        next: Resource<DocumentNext>,
        input: String,
    ) -> wasmtime::Result<Result<String, Resource<Refusal>>> {
        let next = self.table.get(&next)?.0.clone();
        let end = match self.read_input(&input)? {
            Ok(operation) => next.run(operation).await,
            Err(refusal) => Err(refusal),
        };
        match end {
            Ok(output) => Ok(Ok(json::write(&document::output(&output)))),
            Err(refusal) => Ok(Err(self.push(refusal)?)),
        }
    }

    fn drop(&mut self, next: Resource<DocumentNext>) -> wasmtime::Result<()> {
        self.table.delete(next)?;
        Ok(())
    }
}

impl State {
    /// The operation that a layer's document describes. What does not fit is the layer's
    /// failure, and the layer may still answer in its place.
    fn read_input(&self, input: &str) -> wasmtime::Result<Result<Operation, Refusal>> {
        let at = self.at()?;
        let read = json::parse(input)
            .and_then(|document| document::read_input(at.cx.call(), &at.received, at.bodies, &document));
        Ok(read.map_err(|error| {
            let error = error.of_kind(ErrorKind::HookFailed);
            error.at(at.cx.role(), at.cx.name()).into()
        }))
    }
}
