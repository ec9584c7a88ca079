//! The real effect of `fetch`: one HTTP request on a kept client.
//!
//! It sends the request that came down the stack and nothing more. Added by the
//! transport: `host`, framing, and `accept: */*` where the request has no `accept`.
//!
//! **Architecture invariants.** No redirect is followed here: a 3xx goes back up, and
//! whoever follows it does so above the stack. No proxy variable, cookie or referrer of
//! the process takes part. Bodies are not decompressed, so a small answer stays small.

use std::{sync::Once, time::Duration};

use bytes::{Bytes, BytesMut};
use futures::future::BoxFuture;
use http::{HeaderMap, HeaderName, HeaderValue};
use seam_contract::{
    Cx, Error, ErrorKind, Executor, Operation, Output, Refusal,
    fetch::{MAX_BODY, Request, Response},
    headers::{Headers, MAX_FIELDS, TRANSPORT},
};

/// How long a connection may take to come up, name resolution and TLS included.
pub const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// How long the other side may be silent in the middle of an answer. The whole of a
/// request is bounded by the execution it belongs to.
pub const SILENCE_LIMIT: Duration = Duration::from_secs(60);

/// Sends requests. One per process: it keeps connections.
pub struct HttpExecutor {
    client: reqwest::Client,
}

impl HttpExecutor {
    /// A client that trusts the system's certificate authorities.
    ///
    /// Errors (kind `config`): the system has no certificate authorities.
    pub fn new() -> Result<Self, Error> {
        static PROVIDER: Once = Once::new();
        // The result says only whether another part of the process was first.
        PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_proxy()
            .connect_timeout(CONNECT_LIMIT)
            .read_timeout(SILENCE_LIMIT)
            .http1_max_headers(MAX_FIELDS)
            .build()
            .map_err(|e| {
                let message = "the HTTP client cannot be made; are the system's CA certificates installed?";
                Error::new(ErrorKind::Config, message).with_source(e)
            })?;
        Ok(Self { client })
    }

    async fn send(&self, request: &Request) -> Result<Response, Error> {
        let mut sent = self
            .client
            .request(method(request)?, request.url().clone())
            .headers(wire(request.headers())?);
        if let Some(body) = request.body() {
            sent = sent.body(body.clone());
        }
        let answer = sent.send().await.map_err(|e| effect(&e))?;
        let status = answer.status();
        let mut response = Response::new(status.as_u16(), request.url().as_str())?;
        response = response.with_status_text(&reason_phrase(&answer))?;
        let headers = shown(answer.headers())?;
        response.with_headers(headers).with_body(read(answer).await?)
    }
}

impl Executor for HttpExecutor {
    fn execute<'a>(&'a self, _: &'a Cx, operation: Operation) -> BoxFuture<'a, Result<Output, Refusal>> {
        Box::pin(async move {
            match &operation {
                Operation::Fetch(request) => {
                    let answered = self.send(request).await;
                    Ok(Output::Fetch(
                        answered.map_err(|error| error.of_kind(ErrorKind::EffectFailed))?,
                    ))
                }
            }
        })
    }
}

fn method(request: &Request) -> Result<http::Method, Error> {
    http::Method::from_bytes(request.method().as_bytes())
        .map_err(|e| Error::new(ErrorKind::Invalid, "not an HTTP method").with_source(e))
}

/// Reads the whole body, and gives up as soon as it is too large: the declared length is
/// only a hint.
async fn read(mut answer: reqwest::Response) -> Result<Bytes, Error> {
    let too_large = || effect_text(format!("the answer's body has more than the limit of {MAX_BODY} bytes"));
    if answer.content_length().is_some_and(|length| length > MAX_BODY as u64) {
        return Err(too_large());
    }
    let mut body = BytesMut::new();
    while let Some(chunk) = answer.chunk().await.map_err(|e| effect(&e))? {
        if body.len() + chunk.len() > MAX_BODY {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

/// The reason phrase as it came; HTTP/2 has none.
fn reason_phrase(answer: &reqwest::Response) -> String {
    match answer.extensions().get::<hyper::ext::ReasonPhrase>() {
        Some(phrase) => latin1(phrase.as_bytes()),
        None if answer.version() >= http::Version::HTTP_2 => String::new(),
        None => answer.status().canonical_reason().unwrap_or_default().to_owned(),
    }
}

/// Header values are byte strings, shown one character a byte.
fn wire(headers: &Headers) -> Result<HeaderMap, Error> {
    let mut map = HeaderMap::with_capacity(headers.iter().len());
    for (name, value) in headers.iter() {
        let bytes: Option<Vec<u8>> = value.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect();
        let value = bytes.and_then(|bytes| HeaderValue::from_bytes(&bytes).ok());
        match (HeaderName::from_bytes(name.as_bytes()), value) {
            (Ok(name), Some(value)) => map.append(name, value),
            _ => return Err(effect_text(format!("the header {name} cannot be sent"))),
        };
    }
    Ok(map)
}

/// The answer's header fields without those of the transport.
fn shown(map: &HeaderMap) -> Result<Headers, Error> {
    let fields = map.iter().filter(|(name, _)| !TRANSPORT.contains(&name.as_str()));
    Headers::new(fields.map(|(name, value)| (name.as_str(), latin1(value.as_bytes()))))
}

fn latin1(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// What went wrong, without the URL that the library's own text carries.
fn effect(error: &reqwest::Error) -> Error {
    let what = if error.is_timeout() {
        "timed out"
    } else if error.is_connect() {
        "cannot connect"
    } else if error.is_body() || error.is_decode() {
        "the answer broke off"
    } else {
        "the request broke off"
    };
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let deepest = if std::ptr::addr_eq(cause, std::ptr::from_ref(error)) {
        String::new()
    } else {
        format!(": {cause}")
    };
    effect_text(format!("{what}{deepest}"))
}

fn effect_text(message: String) -> Error {
    Error::new(ErrorKind::EffectFailed, message)
}
