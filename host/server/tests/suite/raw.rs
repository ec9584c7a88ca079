//! The protocol line by line: what no well-behaved client would send, and what must never
//! stand on standard output.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::{Dir, seam};

/// How long a message may take before the test gives up; it bounds a hang, not a speed.
const PATIENCE: Duration = Duration::from_secs(120);

struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    /// Every line of standard output.
    out: Receiver<String>,
    err: thread::JoinHandle<String>,
}

impl Server {
    fn start(arguments: &[&str]) -> Self {
        let mut all = vec!["serve"];
        all.extend(arguments);
        let mut command = seam(&all);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, out) = mpsc::channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            stdout
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        let stderr = child.stderr.take().unwrap();
        let err = thread::spawn(move || std::io::read_to_string(stderr).unwrap());
        Self {
            stdin: child.stdin.take(),
            child,
            out,
            err,
        }
    }

    fn initialized(arguments: &[&str]) -> Self {
        let mut server = Self::start(arguments);
        let answer = server.initialize();
        assert_eq!(answer["result"]["serverInfo"]["name"], "seam", "{answer}");
        server
    }

    fn initialize(&mut self) -> Value {
        let client = json!({"name": "raw", "version": "0"});
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        self.say(&json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params}));
        let answer = self.answer("hello");
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
    }

    fn say(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    fn write(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    fn call(&mut self, id: &str, code: &str) {
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
                         "params": {"name": "run_js", "arguments": {"code": code}}}));
    }

    /// The next message, which must be one of the protocol.
    fn next(&mut self) -> Value {
        message(&self.out.recv_timeout(PATIENCE).unwrap())
    }

    /// The answer to `id`; nothing else may come before it.
    fn answer(&mut self, id: &str) -> Value {
        let message = self.next();
        assert_eq!(message["id"], id, "{message}");
        message
    }

    /// Closes the input and gives what was still said, and the log.
    fn end(mut self) -> (Vec<Value>, String) {
        drop(self.stdin.take());
        let rest = self.out.iter().map(|line| message(&line)).collect();
        let status = self.child.wait().unwrap();
        let err = self.err.join().unwrap();
        assert!(status.success(), "{status}: {err}");
        (rest, err)
    }
}

fn message(line: &str) -> Value {
    let message: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    assert_eq!(message["jsonrpc"], "2.0", "{line}");
    message
}

#[test]
fn only_the_protocol_stands_on_standard_output() {
    let dir = Dir::new("purity");
    let forged = r#"{"jsonrpc":"2.0","id":"forged","result":{}}"#;
    let hook = dir.file(
        "hook.js",
        format!("console.log('{forged}'); function handle(input) {{ console.log('{forged}'); throw new Error('{forged}'); }}"),
    );
    let json = format!(r#"{{"fetch": {{"stack": [{{"execute": {{"url": "{hook}"}}}}]}}}}"#);
    let mut server = Server::initialized(&["--policies-json", &json]);
    let code = format!(
        "console.log('{forged}\\n{forged}'); console.error('{forged}');
         try {{ Object.getPrototypeOf(Deno.core)?.print?.('{forged}\\n') }} catch {{}}
         try {{ Deno.core.print('{forged}\\n') }} catch {{}}
         try {{ await fetch('http://ok.test/') }} catch {{}}
         'done'"
    );
    server.call("a", &code);
    let answer = server.answer("a");
    assert_eq!(answer["result"]["structuredContent"]["result"], "done", "{answer}");
    let (rest, _) = server.end();
    assert_eq!(rest, Vec::<Value>::new());
}

#[test]
fn rubbish_does_not_end_the_session() {
    let mut server = Server::start(&[]);
    server.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "x"}}));
    server.say(&json!({"jsonrpc": "2.0", "id": "x", "result": {}}));
    server.write(b"\n\nhello\n\xff\xfe\n{\n\0\0\0\n");
    server.say(&json!({"jsonrpc": "2.0", "id": "early", "method": "ping"}));
    assert_eq!(server.answer("early")["result"], json!({}));
    server.initialize();
    for garbage in ["{", "[", "GET / HTTP/1.1", "Content-Length: 5", "\u{feff}"] {
        server.write(format!("{garbage}\r\n").as_bytes());
    }
    server.write(b"\xc3\x28\n");
    let long = "x".repeat(20 << 20);
    server.say(&json!({"jsonrpc": "2.0", "id": "long", "method": "tools/call", "params": {"code": long}}));
    server.say(&json!({"jsonrpc": "2.0", "id": "p", "method": "ping"}));
    assert_eq!(server.answer("p")["result"], json!({}));
    // JSON of another shape is answered, without an id to answer to.
    server.write(b"[1]\n{\"a\":1}\n");
    for _ in 0..2 {
        let error = server.next();
        assert!(
            error["error"]["code"].is_i64() && error.get("id").is_none_or(Value::is_null),
            "{error}"
        );
    }
    server.say(&json!({"jsonrpc": "2.0", "id": "m", "method": "no/such"}));
    assert_eq!(server.answer("m")["error"]["code"], json!(-32601));
    server.call("r", "1 + 1");
    assert_eq!(server.answer("r")["result"]["structuredContent"]["result"], json!(2));
    let (rest, err) = server.end();
    assert_eq!(rest, Vec::<Value>::new());
    assert!(err.contains("maximum line length"), "{err}");
}

#[test]
fn cancelling_leaves_no_reply_and_a_ping_is_answered_at_once() {
    let mut server = Server::initialized(&[]);
    server.say(&json!({"jsonrpc": "2.0", "id": "loop", "method": "tools/call",
                       "params": {"name": "run_js", "arguments": {"code": "console.log('up'); for (;;) {}", "timeout_secs": 300},
                                  "_meta": {"progressToken": "t"}}}));
    while server.next()["params"]["message"] != "up" {}
    server.say(&json!({"jsonrpc": "2.0", "id": "p", "method": "ping"}));
    assert_eq!(server.answer("p")["result"], json!({}));
    for id in ["unknown", "hello", "loop", "loop"] {
        server.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    }
    server.call("next", "2 + 2");
    assert_eq!(server.answer("next")["result"]["structuredContent"]["result"], json!(4));
    let (rest, _) = server.end();
    assert_eq!(rest, Vec::<Value>::new());
}

#[test]
fn the_end_of_input_stops_what_runs() {
    let mut server = Server::initialized(&[]);
    server.call("loop", "for (;;) {}");
    server.say(&json!({"jsonrpc": "2.0", "id": "p", "method": "ping"}));
    server.answer("p");
    // It would run for 30 seconds by itself; `end` waits for the process.
    let (rest, _) = server.end();
    for message in rest {
        assert_eq!(message["id"], "loop");
        assert_eq!(message["result"]["structuredContent"]["status"], "cancelled");
    }
}

#[test]
fn a_client_that_never_says_hello_may_go() {
    let (rest, err) = Server::start(&[]).end();
    assert_eq!((rest, err.as_str()), (Vec::new(), ""));
}

#[test]
fn each_operation_is_a_line_of_the_trace() {
    let dir = Dir::new("trace");
    let hook = dir.file(
        "hook.js",
        "function handle(input) {
           if (input.url_parsed.path === '/no') { const no = new Error('closed'); no.name = 'Denied'; throw no; }
           return {status: 204, statusText: '', url: input.url, headers: {}, body: '', bodyEncoding: 'base64', redirected: false};
         }",
    );
    let pass = dir.file(
        "pass.js",
        "function handle(input, next) { return next({...input, headers: {'x-a': '1'}}) }",
    );
    let json = format!(r#"{{"fetch": {{"stack": [{{"url": "{pass}"}}, {{"execute": {{"url": "{hook}"}}}}]}}}}"#);
    let file = dir.path().join("trace.jsonl");
    fs::write(&file, "{\"earlier\":true}\n").unwrap();
    let mut server = Server::initialized(&["--policies-json", &json, "--trace", file.to_str().unwrap()]);
    server.call(
        "a",
        "await fetch('http://ok.test/yes?secret=1'); await fetch('http://u.test/no').catch(() => 0)",
    );
    let execution = server.answer("a")["result"]["structuredContent"]["execution_id"].clone();
    server.end();
    let text = fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(!text.contains("secret"), "{text}");
    let shown = |line: &Value| {
        let steps = line["steps"].as_array().unwrap().iter();
        let steps: Vec<Value> = steps
            .map(|step| {
                json!([
                    step["name"],
                    step["role"],
                    step["depth"],
                    step["decision"],
                    step["rewrote"]
                ])
            })
            .collect();
        json!([line["operation"], line["target"], line["outcome"], steps])
    };
    assert_eq!(lines[1]["execution"], execution);
    assert_eq!(
        shown(&lines[1]),
        json!([
            "fetch",
            "http://ok.test/yes",
            "answered",
            [
                ["pass.js", "layer", 0, "rewrite", ["headers"]],
                ["hook.js", "executor", 1, "answer", []]
            ]
        ])
    );
    assert_eq!(lines[2]["outcome"], "denied");
    assert_eq!(lines[2]["steps"][1]["reason"], "closed");
    assert!(lines[1]["us"].is_u64() && lines[1]["steps"][0]["us"].is_u64() && lines[1]["time_ms"].is_u64());
}
