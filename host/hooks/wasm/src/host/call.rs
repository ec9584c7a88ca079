//! `call` and `bodies`: who asks, and what refused.

use seam_contract::{Refusal, json};
use wasmtime::component::Resource;

use crate::{
    bindings::seam::hooks::{
        bodies::{self, HostBody},
        call::{self, HostContext, HostFailure},
    },
    state::State,
    values::{Body, Context},
};

/// The most that one `body.read` gives, as `wit/` says. Bounds the copy.
const READ: u64 = 1 << 20;

impl call::Host for State {}

impl HostContext for State {
    fn operation(&mut self, _: Resource<Context>) -> wasmtime::Result<String> {
        Ok(self.at()?.cx.call().kind().name().to_owned())
    }

    fn execution_id(&mut self, _: Resource<Context>) -> wasmtime::Result<String> {
        Ok(self.at()?.cx.call().caller().execution.clone())
    }

    fn mcp_headers(&mut self, _: Resource<Context>) -> wasmtime::Result<Vec<(String, String)>> {
        let headers = &self.at()?.cx.call().caller().mcp_headers;
        Ok(headers
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect())
    }

    fn claims(&mut self, _: Resource<Context>) -> wasmtime::Result<Option<String>> {
        Ok(self.at()?.cx.call().caller().claims.as_ref().map(json::write))
    }

    fn drop(&mut self, context: Resource<Context>) -> wasmtime::Result<()> {
        self.table.delete(context)?;
        Ok(())
    }
}

impl HostFailure for State {
    fn kind(&mut self, failure: Resource<Refusal>) -> wasmtime::Result<String> {
        Ok(self.table.get(&failure)?.kind_name().to_owned())
    }

    fn by(&mut self, failure: Resource<Refusal>) -> wasmtime::Result<String> {
        Ok(self.table.get(&failure)?.by().to_string())
    }

    fn reason(&mut self, failure: Resource<Refusal>) -> wasmtime::Result<Option<String>> {
        Ok(self.table.get(&failure)?.reason().map(str::to_owned))
    }

    fn drop(&mut self, failure: Resource<Refusal>) -> wasmtime::Result<()> {
        self.table.delete(failure)?;
        Ok(())
    }
}

impl bodies::Host for State {}

impl HostBody for State {
    fn length(&mut self, body: Resource<Body>) -> wasmtime::Result<u64> {
        Ok(self.table.get(&body)?.bytes.len() as u64)
    }

    fn read(&mut self, body: Resource<Body>, offset: u64, length: u32) -> wasmtime::Result<Vec<u8>> {
        let bytes = &self.table.get(&body)?.bytes;
        let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..));
        let wanted = u64::from(length).min(READ) as usize;
        Ok(rest.map_or_else(Vec::new, |rest| rest.iter().copied().take(wanted).collect()))
    }

    fn drop(&mut self, body: Resource<Body>) -> wasmtime::Result<()> {
        self.table.delete(body)?;
        Ok(())
    }
}
