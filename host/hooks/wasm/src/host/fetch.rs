//! `fetch`: requests and answers, read field by field and made anew field by field.

use bytes::Bytes;
use seam_contract::{Error, document::Bodies, fetch as values, headers::Headers};
use wasmtime::component::Resource;

use super::{Made, refused};
use crate::{
    bindings::seam::hooks::fetch::{self, HostRequest, HostResponse},
    state::State,
    values::{Body, Request, Response},
};

impl fetch::Host for State {}

impl HostRequest for State {
    fn method(&mut self, request: Resource<Request>) -> wasmtime::Result<String> {
        Ok(self.request(&request)?.method().to_owned())
    }

    fn url(&mut self, request: Resource<Request>) -> wasmtime::Result<String> {
        Ok(self.request(&request)?.url().as_str().to_owned())
    }

    fn scheme(&mut self, request: Resource<Request>) -> wasmtime::Result<String> {
        Ok(self.request(&request)?.url().scheme().to_owned())
    }

    fn host(&mut self, request: Resource<Request>) -> wasmtime::Result<String> {
        Ok(self.request(&request)?.host().to_owned())
    }

    fn port(&mut self, request: Resource<Request>) -> wasmtime::Result<Option<u16>> {
        Ok(self.request(&request)?.url().port())
    }

    fn path(&mut self, request: Resource<Request>) -> wasmtime::Result<String> {
        Ok(self.request(&request)?.url().path().to_owned())
    }

    fn query(&mut self, request: Resource<Request>) -> wasmtime::Result<Option<String>> {
        Ok(self.request(&request)?.url().query().map(str::to_owned))
    }

    fn headers(&mut self, request: Resource<Request>) -> wasmtime::Result<Vec<(String, String)>> {
        Ok(fields(self.request(&request)?.headers()))
    }

    fn header(&mut self, request: Resource<Request>, name: String) -> wasmtime::Result<Vec<String>> {
        Ok(field(self.request(&request)?.headers(), &name))
    }

    fn body(&mut self, request: Resource<Request>) -> wasmtime::Result<Option<Resource<Body>>> {
        if self.at()?.bodies == Bodies::Withheld {
            return Ok(None);
        }
        let body = self.table.get(&request)?.body();
        body.map(|body| self.push(body)).transpose()
    }

    fn with_url(&mut self, request: Resource<Request>, url: String) -> Made<Request> {
        self.rewritten(&request, |value| value.with_url(&url))
    }

    fn with_method(&mut self, request: Resource<Request>, method: String) -> Made<Request> {
        self.rewritten(&request, |value| value.with_method(&method))
    }

    fn with_headers(&mut self, request: Resource<Request>, headers: Vec<(String, String)>) -> Made<Request> {
        self.rewritten(&request, |value| Ok(value.with_headers(Headers::new(headers)?)))
    }

    fn with_header(&mut self, request: Resource<Request>, name: String, value: String) -> Made<Request> {
        self.rewritten(&request, |request| {
            Ok(request.with_headers(request.headers().with(&name, &value)?))
        })
    }

    fn without_header(&mut self, request: Resource<Request>, name: String) -> wasmtime::Result<Resource<Request>> {
        let request = self.table.get(&request)?;
        let value = request.value.with_headers(request.value.headers().without(&name));
        let made = request.derived(value, &self.budget)?;
        self.push(made)
    }

    fn with_body(&mut self, request: Resource<Request>, body: Option<Vec<u8>>) -> Made<Request> {
        if self.at()?.bodies == Bodies::Withheld {
            return Ok(Err(
                "this hook is not given request bodies; its source does not say \"body\": true".into(),
            ));
        }
        match self.request(&request)?.with_body(body.map(Bytes::from)) {
            Ok(value) => {
                let made = Request::with_body(value, &self.budget)?;
                Ok(Ok(self.push(made)?))
            }
            Err(error) => refused(&error),
        }
    }

    fn drop(&mut self, request: Resource<Request>) -> wasmtime::Result<()> {
        self.table.delete(request)?;
        Ok(())
    }
}

impl HostResponse for State {
    fn make(&mut self, status: u16, url: String) -> Made<Response> {
        match values::Response::new(status, &url) {
            Ok(value) => {
                let made = Response::kept(value, &self.budget)?;
                Ok(Ok(self.push(made)?))
            }
            Err(error) => refused(&error),
        }
    }

    fn status(&mut self, response: Resource<Response>) -> wasmtime::Result<u16> {
        Ok(self.response(&response)?.status())
    }

    fn status_text(&mut self, response: Resource<Response>) -> wasmtime::Result<String> {
        Ok(self.response(&response)?.status_text().to_owned())
    }

    fn url(&mut self, response: Resource<Response>) -> wasmtime::Result<String> {
        Ok(self.response(&response)?.url().as_str().to_owned())
    }

    fn redirected(&mut self, response: Resource<Response>) -> wasmtime::Result<bool> {
        Ok(self.response(&response)?.redirected())
    }

    fn headers(&mut self, response: Resource<Response>) -> wasmtime::Result<Vec<(String, String)>> {
        Ok(fields(self.response(&response)?.headers()))
    }

    fn header(&mut self, response: Resource<Response>, name: String) -> wasmtime::Result<Vec<String>> {
        Ok(field(self.response(&response)?.headers(), &name))
    }

    fn body(&mut self, response: Resource<Response>) -> wasmtime::Result<Resource<Body>> {
        let body = self.table.get(&response)?.body();
        self.push(body)
    }

    fn with_status(&mut self, response: Resource<Response>, status: u16) -> Made<Response> {
        self.remade(&response, |value| value.with_status(status.into()))
    }

    fn with_status_text(&mut self, response: Resource<Response>, text: String) -> Made<Response> {
        self.remade(&response, |value| value.with_status_text(&text))
    }

    fn with_headers(&mut self, response: Resource<Response>, headers: Vec<(String, String)>) -> Made<Response> {
        self.remade(&response, |value| Ok(value.with_headers(Headers::new(headers)?)))
    }

    fn with_header(&mut self, response: Resource<Response>, name: String, value: String) -> Made<Response> {
        self.remade(&response, |response| {
            Ok(response.with_headers(response.headers().with(&name, &value)?))
        })
    }

    fn without_header(&mut self, response: Resource<Response>, name: String) -> wasmtime::Result<Resource<Response>> {
        let response = self.table.get(&response)?;
        let value = response.value.with_headers(response.value.headers().without(&name));
        let made = response.derived(value, &self.budget)?;
        self.push(made)
    }

    fn with_body(&mut self, response: Resource<Response>, body: Vec<u8>) -> Made<Response> {
        match self.response(&response)?.with_body(body.into()) {
            Ok(value) => {
                let made = Response::kept(value, &self.budget)?;
                Ok(Ok(self.push(made)?))
            }
            Err(error) => refused(&error),
        }
    }

    fn drop(&mut self, response: Resource<Response>) -> wasmtime::Result<()> {
        self.table.delete(response)?;
        Ok(())
    }
}

impl State {
    fn request(&self, request: &Resource<Request>) -> wasmtime::Result<&values::Request> {
        Ok(&self.table.get(request)?.value)
    }

    fn response(&self, response: &Resource<Response>) -> wasmtime::Result<&values::Response> {
        Ok(&self.table.get(response)?.value)
    }

    /// Another request with the same body.
    fn rewritten(
        &mut self,
        request: &Resource<Request>,
        change: impl FnOnce(&values::Request) -> Result<values::Request, Error>,
    ) -> Made<Request> {
        let request = self.table.get(request)?;
        match change(&request.value) {
            Ok(value) => {
                let made = request.derived(value, &self.budget)?;
                Ok(Ok(self.push(made)?))
            }
            Err(error) => refused(&error),
        }
    }

    /// Another answer with the same body.
    fn remade(
        &mut self,
        response: &Resource<Response>,
        change: impl FnOnce(&values::Response) -> Result<values::Response, Error>,
    ) -> Made<Response> {
        let response = self.table.get(response)?;
        match change(&response.value) {
            Ok(value) => {
                let made = response.derived(value, &self.budget)?;
                Ok(Ok(self.push(made)?))
            }
            Err(error) => refused(&error),
        }
    }
}

fn fields(headers: &Headers) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn field(headers: &Headers, name: &str) -> Vec<String> {
    headers.get_all(name).map(str::to_owned).collect()
}
