//! The client against real sockets that answer exact bytes.

use std::sync::Arc;

use bytes::Bytes;
use seam_contract::{Caller, Operation, OperationKind, Output, Refusal, Stack, fetch::Request, headers::Headers};
use seam_executor_http::HttpExecutor;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// Answers one connection with these bytes; gives the port and what was received.
async fn answering(answer: impl Into<Vec<u8>>) -> (u16, tokio::task::JoinHandle<String>) {
    let answer = answer.into();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let received = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut received = Vec::new();
        let mut buffer = [0; 4096];
        while !complete(&received) {
            match socket.read(&mut buffer).await.unwrap() {
                0 => break,
                n => received.extend_from_slice(&buffer[..n]),
            }
        }
        socket.write_all(&answer).await.unwrap();
        socket.shutdown().await.unwrap();
        received.into_iter().map(char::from).collect()
    });
    (port, received)
}

/// Whether a whole request with an optional `content-length` body is there.
fn complete(received: &[u8]) -> bool {
    let text: String = received.iter().copied().map(char::from).collect();
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    body.chars().count() >= length.unwrap_or(0)
}

async fn send(request: Request) -> Result<seam_contract::fetch::Response, Refusal> {
    let stack = Stack::new(OperationKind::Fetch, vec![], Arc::new(HttpExecutor::new().unwrap())).unwrap();
    let Output::Fetch(response) = stack
        .run(Arc::new(Caller::new("test")), Operation::Fetch(request))
        .await?;
    Ok(response)
}

fn get(url: &str) -> Request {
    Request::new("GET", url, Headers::default(), None).unwrap()
}

#[tokio::test]
async fn the_wire_carries_the_request_and_nothing_else() {
    let (port, received) = answering("HTTP/1.1 204 No Content\r\n\r\n").await;
    let headers = Headers::new([
        ("X-A", "1"),
        ("x-a", "2"),
        ("accept", "text/plain"),
        ("x-latin", "\u{e9}"),
    ])
    .unwrap();
    let url = format!("http://127.0.0.1:{port}/p?q=1");
    send(Request::new("post", &url, headers, Some(Bytes::from_static(b"body"))).unwrap())
        .await
        .unwrap();
    let received = received.await.unwrap();
    let (head, body) = received.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<_> = head.lines().collect();
    lines[1..].sort_unstable();
    let host = format!("host: 127.0.0.1:{port}");
    let expected = [
        "POST /p?q=1 HTTP/1.1",
        "accept: text/plain",
        "content-length: 4",
        &host,
        "x-a: 1",
        "x-a: 2",
        "x-latin: \u{e9}",
    ];
    assert_eq!((lines.as_slice(), body), (expected.as_slice(), "body"));
}

#[tokio::test]
async fn the_answer_comes_back_byte_for_byte() {
    let all: Vec<u8> = (0..=255).collect();
    let head = "HTTP/1.1 201 Made Up\r\nset-cookie: a=1\r\nX-B: \u{1}".replace('\u{1}', "v");
    let mut answer =
        format!("{head}\r\nset-cookie: b=2\r\nconnection: close\r\ncontent-length: 256\r\n\r\n").into_bytes();
    answer.extend_from_slice(&all);
    let (port, _) = answering(answer).await;
    let url = format!("http://127.0.0.1:{port}/");
    let response = send(get(&url)).await.unwrap();
    assert_eq!(
        (response.status(), response.status_text(), response.url().as_str()),
        (201, "Made Up", url.as_str())
    );
    let fields: Vec<_> = response.headers().iter().collect();
    assert_eq!(fields, [("set-cookie", "a=1"), ("set-cookie", "b=2"), ("x-b", "v")]);
    assert_eq!(response.body(), &all);
}

#[tokio::test]
async fn a_redirect_goes_back_up() {
    let (port, _) = answering("HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n").await;
    let response = send(get(&format!("http://127.0.0.1:{port}/"))).await.unwrap();
    assert_eq!(response.status(), 302);
    assert_eq!(
        response.headers().get_all("location").collect::<Vec<_>>(),
        ["http://127.0.0.1:1/"]
    );
}

#[track_caller]
fn assert_fails(end: Result<seam_contract::fetch::Response, Refusal>, expected: &str) {
    let text = end.map(|response| response.status()).unwrap_err().message("fetch", "T");
    assert!(text.starts_with(&format!("fetch failed ({expected}")), "{text}");
    assert!(!text.contains("KEY"), "{text}");
}

#[tokio::test]
async fn what_goes_wrong_is_said_without_the_url() {
    assert_fails(send(get("http://127.0.0.1:1/?token=KEY")).await, "cannot connect");
    assert_fails(
        send(get("http://no-such-host.invalid/?token=KEY")).await,
        "cannot connect",
    );
    let (port, _) = answering("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort").await;
    assert_fails(
        send(get(&format!("http://127.0.0.1:{port}/?token=KEY"))).await,
        "the answer broke off",
    );
    let (port, _) = answering("not HTTP at all\r\n\r\n").await;
    assert_fails(
        send(get(&format!("http://127.0.0.1:{port}/?token=KEY"))).await,
        "the request broke off",
    );
    let (port, _) = answering("HTTP/1.1 200 OK\r\ncontent-length: 999999999999\r\n\r\n").await;
    assert_fails(
        send(get(&format!("http://127.0.0.1:{port}/"))).await,
        "the answer's body has more than",
    );
    let many: String = (0..2000).map(|i| format!("x-{i}: v\r\n")).collect();
    let (port, _) = answering(format!("HTTP/1.1 200 OK\r\n{many}\r\n")).await;
    assert_fails(
        send(get(&format!("http://127.0.0.1:{port}/"))).await,
        "the request broke off",
    );
    let (port, _) = answering("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n").await;
    assert_fails(
        send(get(&format!("http://127.0.0.1:{port}/"))).await,
        "the status 999 is not from 200 to 599",
    );
}
