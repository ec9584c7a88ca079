//! The operation `fetch`: one HTTP request and its answer, as values.
//!
//! Values are immutable and checked when they are made; the parsed URL is part of the
//! request, so what is derived from it can't be stale. One parser (the `url` crate)
//! serves documents, policies and the connection.

use std::{fmt, net::IpAddr, sync::Arc};

use bytes::Bytes;
use url::{Host, Url};

use crate::{
    error::{Error, ErrorKind},
    headers::Headers,
};

/// How long a URL may be, in bytes of its normal form.
pub const MAX_URL: usize = 32 << 10;

/// How large a body may be, in bytes, on either way. A hook at the JSON door pays for it
/// about three times (bytes, base64, parsed document).
pub const MAX_BODY: usize = 64 << 20;

/// A request, checked. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Request(Arc<RequestParts>);

#[derive(Clone, PartialEq, Eq)]
struct RequestParts {
    method: String,
    url: Url,
    headers: Headers,
    body: Option<Bytes>,
}

impl Request {
    /// A request. The method is upper-cased; the URL is brought into normal form and
    /// loses its fragment.
    ///
    /// Errors (kind `invalid`): those of the `with_…` methods.
    pub fn new(method: &str, url: &str, headers: Headers, body: Option<Bytes>) -> Result<Self, Error> {
        let parts = RequestParts {
            method: checked_method(method)?,
            url: checked_url(url)?,
            headers,
            body,
        };
        parts.checked()
    }

    /// The method in upper case.
    pub fn method(&self) -> &str {
        &self.0.method
    }

    /// The URL: absolute, `http` or `https`, without userinfo and fragment.
    pub fn url(&self) -> &Url {
        &self.0.url
    }

    /// The host as it is in the URL; IPv6 in brackets.
    pub fn host(&self) -> &str {
        // `checked_url` refuses URLs without a host.
        self.0.url.host_str().unwrap_or_default()
    }

    /// The header fields.
    pub fn headers(&self) -> &Headers {
        &self.0.headers
    }

    /// The body, `None` where there is none.
    pub fn body(&self) -> Option<&Bytes> {
        self.0.body.as_ref()
    }

    /// What this request is aimed at, fit to be shown: no userinfo, query or fragment.
    pub fn target(&self) -> String {
        self.0.url[..url::Position::AfterPath].to_owned()
    }

    /// To another URL. Refused: what does not parse, is relative, has another scheme than
    /// `http` or `https`, carries userinfo, or is longer than [`MAX_URL`].
    pub fn with_url(&self, url: &str) -> Result<Self, Error> {
        RequestParts {
            url: checked_url(url)?,
            ..self.parts()
        }
        .checked()
    }

    /// With another method. Refused: what is no HTTP token, `CONNECT`, `TRACE`, `TRACK`,
    /// and `GET` or `HEAD` where there is a body.
    pub fn with_method(&self, method: &str) -> Result<Self, Error> {
        RequestParts {
            method: checked_method(method)?,
            ..self.parts()
        }
        .checked()
    }

    /// With exactly these header fields.
    pub fn with_headers(&self, headers: Headers) -> Self {
        Self(Arc::new(RequestParts {
            headers,
            ..self.parts()
        }))
    }

    /// With another body. Refused: more than [`MAX_BODY`] bytes, or any on `GET`, `HEAD`.
    pub fn with_body(&self, body: Option<Bytes>) -> Result<Self, Error> {
        RequestParts { body, ..self.parts() }.checked()
    }

    /// The rewritable fields in which two requests differ.
    pub fn changed_fields(&self, other: &Self) -> Vec<&'static str> {
        if Arc::ptr_eq(&self.0, &other.0) {
            return Vec::new();
        }
        let (a, b) = (&self.0, &other.0);
        [
            ("url", a.url != b.url),
            ("method", a.method != b.method),
            ("headers", a.headers != b.headers),
            ("body", a.body != b.body),
        ]
        .into_iter()
        .filter_map(|(field, changed)| changed.then_some(field))
        .collect()
    }

    fn parts(&self) -> RequestParts {
        RequestParts::clone(&self.0)
    }
}

impl RequestParts {
    fn checked(self) -> Result<Request, Error> {
        if let Some(body) = &self.body {
            if matches!(self.method.as_str(), "GET" | "HEAD") {
                return Err(invalid(format!("a {} request cannot have a body", self.method)));
            }
            checked_body(body)?;
        }
        Ok(Request(Arc::new(self)))
    }
}

impl fmt::Debug for Request {
    /// Method and target only: headers, query and body may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method(), self.target())
    }
}

/// An answer, checked. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Response(Arc<ResponseParts>);

#[derive(Clone, PartialEq, Eq)]
struct ResponseParts {
    status: u16,
    status_text: String,
    url: Url,
    redirected: bool,
    headers: Headers,
    body: Bytes,
}

impl Response {
    /// An answer without headers and body. Errors as in the `with_…` methods.
    pub fn new(status: u16, url: &str) -> Result<Self, Error> {
        Ok(Self(Arc::new(ResponseParts {
            status: checked_status(status.into())?,
            status_text: String::new(),
            url: checked_url(url)?,
            redirected: false,
            headers: Headers::default(),
            body: Bytes::new(),
        })))
    }

    /// The status code, 200 to 599.
    pub fn status(&self) -> u16 {
        self.0.status
    }

    /// The reason phrase, often empty.
    pub fn status_text(&self) -> &str {
        &self.0.status_text
    }

    /// The URL that answered.
    pub fn url(&self) -> &Url {
        &self.0.url
    }

    /// Whether a redirect was followed on the way.
    pub fn redirected(&self) -> bool {
        self.0.redirected
    }

    /// The header fields.
    pub fn headers(&self) -> &Headers {
        &self.0.headers
    }

    /// The body.
    pub fn body(&self) -> &Bytes {
        &self.0.body
    }

    /// With another status. Refused: what is not from 200 to 599.
    pub fn with_status(&self, status: u64) -> Result<Self, Error> {
        Ok(self.with(ResponseParts {
            status: checked_status(status)?,
            ..self.parts()
        }))
    }

    /// With another reason phrase. Refused: line breaks and what else no header can hold.
    pub fn with_status_text(&self, text: &str) -> Result<Self, Error> {
        if text.len() > 512
            || text
                .chars()
                .any(|c| !matches!(c, '\t' | ' '..='~' | '\u{80}'..='\u{ff}'))
        {
            return Err(invalid(
                "the status text is not a reason phrase of at most 512 bytes".into(),
            ));
        }
        Ok(self.with(ResponseParts {
            status_text: text.to_owned(),
            ..self.parts()
        }))
    }

    /// From another URL. Refused as in [`Request::with_url`].
    pub fn with_url(&self, url: &str) -> Result<Self, Error> {
        Ok(self.with(ResponseParts {
            url: checked_url(url)?,
            ..self.parts()
        }))
    }

    /// With the mark that a redirect was followed.
    pub fn with_redirected(&self, redirected: bool) -> Self {
        self.with(ResponseParts {
            redirected,
            ..self.parts()
        })
    }

    /// With exactly these header fields.
    pub fn with_headers(&self, headers: Headers) -> Self {
        self.with(ResponseParts {
            headers,
            ..self.parts()
        })
    }

    /// With another body. Refused: more than [`MAX_BODY`] bytes.
    pub fn with_body(&self, body: Bytes) -> Result<Self, Error> {
        checked_body(&body)?;
        Ok(self.with(ResponseParts { body, ..self.parts() }))
    }

    /// The fields in which two answers differ.
    pub fn changed_fields(&self, other: &Self) -> Vec<&'static str> {
        if Arc::ptr_eq(&self.0, &other.0) {
            return Vec::new();
        }
        let (a, b) = (&self.0, &other.0);
        [
            ("status", a.status != b.status),
            ("statusText", a.status_text != b.status_text),
            ("url", a.url != b.url),
            ("headers", a.headers != b.headers),
            ("body", a.body != b.body),
            ("redirected", a.redirected != b.redirected),
        ]
        .into_iter()
        .filter_map(|(field, changed)| changed.then_some(field))
        .collect()
    }

    fn parts(&self) -> ResponseParts {
        ResponseParts::clone(&self.0)
    }

    fn with(&self, parts: ResponseParts) -> Self {
        Self(Arc::new(parts))
    }
}

impl fmt::Debug for Response {
    /// Status and size only: headers and body may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes)", self.status(), self.body().len())
    }
}

fn checked_method(method: &str) -> Result<String, Error> {
    let shown: String = method.chars().take(80).collect();
    let upper = method.to_ascii_uppercase();
    if method.len() > 64 || http::Method::from_bytes(upper.as_bytes()).is_err() {
        return Err(invalid(format!("{shown:?} is not an HTTP method")));
    }
    if matches!(upper.as_str(), "CONNECT" | "TRACE" | "TRACK") {
        return Err(invalid(format!("the method {upper} is not allowed")));
    }
    Ok(upper)
}

fn checked_url(text: &str) -> Result<Url, Error> {
    // Error texts leave the URL out: it may carry userinfo or a secret query.
    if text.len() > MAX_URL {
        return Err(invalid(format!("the url has more than {MAX_URL} bytes")));
    }
    let mut url = Url::parse(text).map_err(|e| invalid(format!("the url does not parse: {e}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(invalid(format!(
            "the scheme {} is not supported, only http and https are",
            url.scheme()
        )));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid(
            "the url carries a user name or password; send credentials in a header".into(),
        ));
    }
    url.set_fragment(None);
    if let Some(host) = plain_host(&url) {
        url.set_host(Some(&host))
            .map_err(|e| invalid(format!("the url has no usable host: {e}")))?;
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(invalid("the url has no host".into()));
    }
    if url.as_str().len() > MAX_URL {
        return Err(invalid(format!("the url has more than {MAX_URL} bytes")));
    }
    Ok(url)
}

/// The plainer spelling of a host, where there is one: without a final dot, and an
/// IPv4-mapped IPv6 address as IPv4. A rule about a host must not depend on its spelling.
fn plain_host(url: &Url) -> Option<String> {
    match url.host()? {
        Host::Domain(name) => name.strip_suffix('.').map(str::to_owned),
        Host::Ipv6(address) => address.to_ipv4_mapped().map(|v4| IpAddr::V4(v4).to_string()),
        Host::Ipv4(_) => None,
    }
}

fn checked_status(status: u64) -> Result<u16, Error> {
    match u16::try_from(status) {
        Ok(status @ 200..=599) => Ok(status),
        _ => Err(invalid(format!("the status {status} is not from 200 to 599"))),
    }
}

fn checked_body(body: &Bytes) -> Result<(), Error> {
    if body.len() > MAX_BODY {
        return Err(invalid(format!(
            "the body has {} bytes, more than the limit of {MAX_BODY}",
            body.len()
        )));
    }
    Ok(())
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::Invalid, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(url: &str) -> Result<Request, Error> {
        Request::new("get", url, Headers::default(), None)
    }

    #[test]
    fn one_host_has_one_spelling() {
        for (written, host) in [
            ("http://2130706433/", "127.0.0.1"),
            ("http://0x7f000001/", "127.0.0.1"),
            ("http://0177.0.0.1/", "127.0.0.1"),
            ("http://127.1/", "127.0.0.1"),
            ("http://[::ffff:7f00:1]/", "127.0.0.1"),
            ("HTTPS://OK.TEST./p", "ok.test"),
            ("http://ok.test.:80/p", "ok.test"),
            ("http://ok\u{3002}test/", "ok.test"),
            ("http://[::1]:8080/", "[::1]"),
            ("http://b\u{fc}cher.test/", "xn--bcher-kva.test"),
        ] {
            assert_eq!(get(written).unwrap().host(), host, "{written}");
        }
    }

    #[test]
    fn the_host_is_what_the_one_parser_says() {
        assert_eq!(get("http://ok.test#@bad.test/").unwrap().host(), "ok.test");
        for refused in [
            "http://ok.test@bad.test/",
            "http://ok.test:80@bad.test/",
            "http://:p@ok.test/",
        ] {
            let error = get(refused).unwrap_err().to_string();
            assert!(error.contains("user name") && !error.contains("ok.test"), "{error}");
        }
        assert_eq!(get("http://ok.test\\@bad.test/").unwrap().host(), "ok.test");
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        for url in [
            "",
            "ok.test",
            "/p",
            "file:///etc/hosts",
            "data:,x",
            "blob:x",
            "http://",
            "http://a b/",
            "javascript:1",
            "http://./",
        ] {
            assert!(get(url).is_err(), "{url:?} was accepted");
        }
        for method in ["", "G ET", "GET\r\n", "CONNECT", "trace", "Track", "G\u{c9}T"] {
            assert!(
                Request::new(method, "http://ok.test", Headers::default(), None).is_err(),
                "{method:?} was accepted"
            );
        }
        assert!(
            Request::new(
                "GET",
                "http://ok.test",
                Headers::default(),
                Some(Bytes::from_static(b"x"))
            )
            .is_err()
        );
        assert!(get(&format!("http://ok.test/{}", "a".repeat(MAX_URL))).is_err());
        let posted = Request::new(
            "post",
            "http://ok.test",
            Headers::default(),
            Some(Bytes::from_static(b"x")),
        )
        .unwrap();
        assert!(posted.with_method("GET").is_err());
    }

    #[test]
    fn nothing_secret_is_shown() {
        let request = get("http://ok.test/p?token=KEY#KEY").unwrap();
        assert_eq!(request.target(), "http://ok.test/p");
        assert_eq!(format!("{request:?}"), "GET http://ok.test/p");
    }

    #[test]
    fn changes_are_named() {
        let a = get("http://ok.test/").unwrap();
        assert!(a.changed_fields(&get("http://ok.test").unwrap()).is_empty());
        let b = a.with_url("http://ok.test/b").unwrap().with_method("put").unwrap();
        assert_eq!(a.changed_fields(&b), ["url", "method"]);
        let answer = Response::new(200, "http://ok.test/").unwrap();
        assert_eq!(answer.changed_fields(&answer.with_status(404).unwrap()), ["status"]);
        assert!(
            answer.with_status(199).is_err()
                && answer.with_status(600).is_err()
                && Response::new(0, "http://ok.test").is_err()
        );
    }
}
