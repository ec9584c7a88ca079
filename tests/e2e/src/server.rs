//! A recording HTTP server: small, real, and on record before it answers.
//!
//! It speaks HTTP/1.1 by hand so that a test sees the very bytes that arrived, and can
//! answer in ways no well-behaved library would. One request a connection.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

/// How long the head of a request may be, in bytes; twice what the product may send.
const MAX_HEAD: usize = 1 << 20;

/// How many header fields are read, twice what the product may send.
const MAX_FIELDS: usize = 2048;

/// How long a test waits for something it knows will come before it fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// One request that arrived.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The method as sent.
    pub method: String,
    /// The path, percent-encoded, without the query.
    pub path: String,
    /// The query without `?`, where there was a `?`.
    pub query: Option<String>,
    /// Every header field in order, names as sent.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The request line and the header fields, byte for byte.
    pub head: Vec<u8>,
    /// Whether the client has closed the connection since.
    pub closed: bool,
}

impl Hit {
    /// Path and query.
    pub fn target(&self) -> String {
        match &self.query {
            Some(query) => format!("{}?{query}", self.path),
            None => self.path.clone(),
        }
    }

    /// The values of one header, any case.
    pub fn header(&self, name: &str) -> Vec<&str> {
        let same = self.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name));
        same.map(|(_, value)| value.as_str()).collect()
    }
}

/// What a route answers.
#[derive(Clone, Debug)]
pub struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Answer {
    /// An answer without headers.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.into(),
        }
    }

    /// With one more header field.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}

/// The server. Ends when it is dropped.
pub struct Recorder {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

struct Shared {
    hits: Mutex<Vec<Hit>>,
    routes: Mutex<HashMap<String, Answer>>,
    changed: watch::Sender<u64>,
}

impl Recorder {
    /// Starts on an ephemeral port of 127.0.0.1, with these routes: `/ok`,
    /// `/status/<n>`, `/redirect?<location>`, `/bytes` (0 to 255), `/hang` (never
    /// answers), `/echo` (what it received as JSON), `/headers` (repeated and telling
    /// ones), and 404 for every other path that no [`Recorder::route`] names.
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            hits: Mutex::default(),
            routes: Mutex::default(),
            changed: watch::Sender::new(0),
        });
        let accepting = tokio::spawn({
            let shared = shared.clone();
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let shared = shared.clone();
                    // What goes wrong on one connection shows as a missing hit.
                    tokio::spawn(async move { drop(shared.serve(stream).await) });
                }
            }
        });
        Ok(Self {
            address,
            shared,
            accepting,
        })
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The URL of a path on this server.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Answers this path (without query) with that from now on.
    pub fn route(&self, path: &str, answer: Answer) {
        lock(&self.shared.routes).insert(path.into(), answer);
    }

    /// Everything that has arrived, in order.
    pub fn hits(&self) -> Vec<Hit> {
        lock(&self.shared.hits).clone()
    }

    /// What has arrived at one path.
    pub fn hits_at(&self, path: &str) -> Vec<Hit> {
        self.hits().into_iter().filter(|hit| hit.path == path).collect()
    }

    /// Path and query of everything that has arrived, in order.
    pub fn targets(&self) -> Vec<String> {
        self.hits().iter().map(Hit::target).collect()
    }

    /// Waits until one hit is like that.
    pub async fn wait_for(&self, what: &str, like: impl Fn(&Hit) -> bool) -> Result<Hit> {
        let mut changed = self.shared.changed.subscribe();
        let found = tokio::time::timeout(PATIENCE, async {
            loop {
                if let Some(hit) = self.hits().into_iter().find(&like) {
                    return Ok(hit);
                }
                changed.changed().await.context("the server has ended")?;
            }
        });
        found.await.with_context(|| format!("the server never saw {what}"))?
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Shared {
    async fn serve(&self, mut stream: TcpStream) -> Result<()> {
        let hit = read(&mut stream).await?;
        let (path, target) = (hit.path.clone(), hit.target());
        let index = self.record(hit.clone());
        let scripted = lock(&self.routes).get(&path).cloned();
        let answer = match scripted {
            Some(answer) => answer,
            None if path == "/hang" => {
                until_closed(&mut stream).await;
                lock(&self.hits)[index].closed = true;
                self.changed.send_modify(|n| *n += 1);
                return Ok(());
            }
            None => standard(&hit, &target),
        };
        write(&mut stream, hit.method == "HEAD", &answer).await
    }

    /// Puts a hit on record and gives its place there.
    fn record(&self, hit: Hit) -> usize {
        let mut hits = lock(&self.hits);
        hits.push(hit);
        let index = hits.len() - 1;
        drop(hits);
        self.changed.send_modify(|n| *n += 1);
        index
    }
}

/// The routes every server has.
fn standard(hit: &Hit, target: &str) -> Answer {
    let plain = |status, body: String| Answer::new(status, body).header("content-type", "text/plain");
    let status = |text: &str| text.parse::<u16>().ok().filter(|n| (200..600).contains(n));
    match hit.path.as_str() {
        "/ok" => plain(200, "ok".into()),
        "/bytes" => Answer::new(200, (0..=255).collect::<Vec<u8>>()).header("content-type", "application/octet-stream"),
        "/redirect" => {
            let location = hit.query.as_deref().unwrap_or("/ok");
            plain(302, "elsewhere".into()).header("location", location)
        }
        "/headers" => plain(200, "headers".into())
            .header("server", "recorder/1")
            .header("x-powered-by", "recorder")
            .header("x-many", "1")
            .header("x-many", "2")
            .header("set-cookie", "a=1; Path=/")
            .header("set-cookie", "b=2, c"),
        "/echo" => {
            let headers: Vec<_> = hit.headers.iter().map(|(name, value)| json!([name, value])).collect();
            let body = json!({
                "method": hit.method,
                "target": target,
                "headers": headers,
                "body": BASE64.encode(&hit.body),
            });
            Answer::new(200, body.to_string()).header("content-type", "application/json")
        }
        path => match path.strip_prefix("/status/").and_then(status) {
            Some(code) => plain(code, format!("status {code}")),
            None => plain(404, format!("nothing at {path}")),
        },
    }
}

/// Reads one request.
async fn read(stream: &mut TcpStream) -> Result<Hit> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        ensure!(bytes.len() < MAX_HEAD, "the head of a request is too long");
        ensure!(stream.read_buf(&mut bytes).await? > 0, "closed in the head");
    };
    let mut rest = bytes.split_off(end);
    let mut fields = vec![httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    ensure!(
        request.parse(&bytes)?.is_complete(),
        "the head of a request is incomplete"
    );
    let target = request.path.context("no target")?;
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query.to_owned())),
        None => (target, None),
    };
    let headers = request
        .headers
        .iter()
        .map(|field| (field.name.to_owned(), latin1(field.value)));
    let mut hit = Hit {
        method: request.method.context("no method")?.to_owned(),
        path: path.to_owned(),
        query,
        headers: headers.collect(),
        body: Vec::new(),
        head: bytes.clone(),
        closed: false,
    };
    if !hit.header("transfer-encoding").is_empty() {
        hit.body = read_chunks(stream, &mut rest).await?;
    } else if let Some(length) = hit.header("content-length").first() {
        let length = length.parse()?;
        fill(stream, &mut rest, length).await?;
        rest.truncate(length);
        hit.body = rest;
    }
    Ok(hit)
}

async fn read_chunks(stream: &mut TcpStream, rest: &mut Vec<u8>) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = loop {
            if let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
                break end;
            }
            let more = rest.len() + 1;
            fill(stream, rest, more).await?;
        };
        let size = std::str::from_utf8(&rest[..line])?;
        let size = usize::from_str_radix(size.split(';').next().unwrap_or_default().trim(), 16)?;
        rest.drain(..line + 2);
        fill(stream, rest, size + 2).await?;
        body.extend(rest.drain(..size));
        rest.drain(..2);
        if size == 0 {
            return Ok(body);
        }
    }
}

/// Reads until there are at least `length` bytes.
async fn fill(stream: &mut TcpStream, bytes: &mut Vec<u8>, length: usize) -> Result<()> {
    while bytes.len() < length {
        if stream.read_buf(bytes).await? == 0 {
            bail!("closed in the body");
        }
    }
    Ok(())
}

async fn write(stream: &mut TcpStream, head_only: bool, answer: &Answer) -> Result<()> {
    let mut head = format!("HTTP/1.1 {} {}\r\n", answer.status, reason(answer.status));
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if !matches!(answer.status, 204 | 304) {
        head.push_str(&format!("content-length: {}\r\n", answer.body.len()));
    }
    head.push_str("connection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    if !head_only && !matches!(answer.status, 204 | 304) {
        stream.write_all(&answer.body).await?;
    }
    stream.shutdown().await?;
    Ok(())
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        302 => "Found",
        404 => "Not Found",
        418 => "I'm a teapot",
        503 => "Service Unavailable",
        _ => "",
    }
}

/// Returns when the other side has closed the connection.
async fn until_closed(stream: &mut TcpStream) {
    let mut nothing = [0; 64];
    while matches!(stream.read(&mut nothing).await, Ok(1..)) {}
}

/// Header bytes, one character each.
fn latin1(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A poisoned record is still a true record.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn exchange(server: &Recorder, sent: &str) -> Result<String> {
        let mut stream = TcpStream::connect(server.address).await?;
        stream.write_all(sent.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    #[tokio::test]
    async fn what_arrives_is_on_record_byte_for_byte() -> Result<()> {
        let server = Recorder::start().await?;
        let head = "POST /echo?a=b HTTP/1.1\r\nHost: x\r\nX-A:  1\r\nx-a: 2\r\nTransfer-Encoding: chunked\r\n\r\n";
        let answer = exchange(&server, &format!("{head}3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n")).await?;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        let hit = &server.hits()[0];
        assert_eq!(
            (hit.target().as_str(), hit.body.as_slice()),
            ("/echo?a=b", b"abcde".as_slice())
        );
        assert_eq!(hit.header("X-a"), ["1", "2"]);
        assert_eq!(hit.head, head.as_bytes());
        Ok(())
    }

    #[tokio::test]
    async fn routes_answer_as_scripted() -> Result<()> {
        let server = Recorder::start().await?;
        server.route("/odd", Answer::new(599, "body").header("x-a", "1").header("x-a", "2"));
        let odd = exchange(&server, "GET /odd HTTP/1.1\r\n\r\n").await?;
        assert!(
            odd.starts_with("HTTP/1.1 599 \r\nx-a: 1\r\nx-a: 2\r\n") && odd.ends_with("\r\n\r\nbody"),
            "{odd}"
        );
        let away = exchange(&server, "GET /redirect?http://b/ HTTP/1.1\r\n\r\n").await?;
        assert!(away.contains("location: http://b/\r\n"), "{away}");
        assert_eq!(server.targets(), ["/odd", "/redirect?http://b/"]);
        Ok(())
    }

    #[tokio::test]
    async fn a_hanging_request_is_seen_to_end() -> Result<()> {
        let server = Recorder::start().await?;
        let mut stream = TcpStream::connect(server.address).await?;
        stream.write_all(b"GET /hang HTTP/1.1\r\n\r\n").await?;
        let hit = server.wait_for("the request", |hit| hit.path == "/hang").await?;
        assert!(!hit.closed);
        drop(stream);
        server.wait_for("its end", |hit| hit.closed).await?;
        Ok(())
    }
}
