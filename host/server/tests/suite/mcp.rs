//! The protocol through a real client.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use rmcp::{
    ClientHandler, RoleClient, ServiceExt,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, JsonObject, ProgressNotificationParam,
        ServerResult,
    },
    service::{NotificationContext, PeerRequestOptions, RequestHandle, RunningService},
    transport::TokioChildProcess,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::support::{Dir, component, seam};

/// A client that keeps what it is told of progress.
#[derive(Clone)]
struct Listener(mpsc::UnboundedSender<ProgressNotificationParam>);

impl ClientHandler for Listener {
    async fn on_progress(&self, note: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let _ = self.0.send(note);
    }
}

struct Client {
    service: RunningService<RoleClient, Listener>,
    progress: Arc<Mutex<mpsc::UnboundedReceiver<ProgressNotificationParam>>>,
}

impl Client {
    async fn start(arguments: &[&str]) -> Self {
        let mut all = vec!["serve"];
        all.extend(arguments);
        let transport = TokioChildProcess::new(tokio::process::Command::from(seam(&all))).unwrap();
        let (sender, progress) = mpsc::unbounded_channel();
        let service = Listener(sender).serve(transport).await.unwrap();
        Self {
            service,
            progress: Arc::new(Mutex::new(progress)),
        }
    }

    async fn call(&self, arguments: Value) -> CallToolResult {
        let handle = self.begin(arguments).await;
        match handle.await_response().await.unwrap() {
            ServerResult::CallToolResult(result) => result,
            other => panic!("not a tool result: {other:?}"),
        }
    }

    async fn run(&self, code: &str) -> Value {
        self.call(json!({"code": code})).await.structured_content.unwrap()
    }

    async fn begin(&self, arguments: Value) -> RequestHandle<RoleClient> {
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object")
        };
        let params = CallToolRequestParams::new("run_js").with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        self.service
            .send_cancellable_request(request, PeerRequestOptions::no_options())
            .await
            .unwrap()
    }

    async fn next_progress(&self) -> ProgressNotificationParam {
        let mut progress = std::mem::replace(&mut *self.progress.lock().unwrap(), mpsc::unbounded_channel().1);
        // Bounds a hang, not a speed.
        let note = tokio::time::timeout(Duration::from_secs(120), progress.recv())
            .await
            .unwrap()
            .unwrap();
        *self.progress.lock().unwrap() = progress;
        note
    }

    async fn end(self) {
        self.service.cancel().await.unwrap();
    }
}

fn text(result: &CallToolResult) -> &str {
    &result.content[0].as_text().unwrap().text
}

/// The arguments of a server whose network is a script, behind a policy, a JavaScript layer
/// and a component.
fn recorded(name: &str) -> [String; 2] {
    let dir = Dir::new(name);
    let policy = dir.file(
        "policy.rego",
        "package mcp.fetch\n\nallow if input.url_parsed.host == \"ok.test\"\n",
    );
    let gate = dir.file(
        "gate.js",
        "function handle(input, next) {
           console.log('{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}');
           switch (input.url_parsed.path) {
             case '/denied': { const no = new Error('not there'); no.name = 'Denied'; throw no; }
             case '/broken': throw new Error('hook is ill');
             case '/spin': for (;;) {}
             case '/hang': return next({...input, url: 'http://ok.test/never'});
             default: return next(input);
           }
         }",
    );
    let network = dir.file(
        "network.js",
        "function handle(input) {
           if (input.url_parsed.path === '/never') for (;;) {}
           return {status: 200, statusText: 'OK', url: input.url, headers: {'x-seen': input.headers['x-seam-layer']},
                   body: 'aGVsbG8=', bodyEncoding: 'base64', redirected: false};
         }",
    );
    let stamp = component("stamp.wasm");
    let json = format!(
        r#"{{"fetch": {{"policies": [{{"url": "{policy}"}}],
            "stack": [{{"url": "{gate}"}}, {{"url": "file://{}"}}, {{"execute": {{"url": "{network}"}}}}]}}}}"#,
        stamp.display()
    );
    ["--policies-json".into(), json]
}

async fn recorded_client(name: &str) -> Client {
    let [flag, json] = recorded(name);
    Client::start(&[&flag, &json]).await
}

#[tokio::test]
async fn the_server_says_who_it_is_and_what_it_can_do() {
    let client = Client::start(&[]).await;
    let info = client.service.peer_info().unwrap();
    assert_eq!(info.server_info.as_ref().unwrap().name, "seam");
    assert_eq!(info.server_info.as_ref().unwrap().version, env!("CARGO_PKG_VERSION"));
    let tools = client.service.list_all_tools().await.unwrap();
    assert_eq!(tools.len(), 1);
    assert_eq!(tools[0].name, "run_js");
    assert!(
        tools[0]
            .description
            .as_deref()
            .unwrap()
            .contains("fetch does not exist")
    );
    let schema = Value::Object(JsonObject::clone(&tools[0].input_schema));
    assert_eq!(schema["required"], json!(["code"]));
    assert_eq!(schema["additionalProperties"], json!(false));
    let timeout = &schema["properties"]["timeout_secs"];
    assert_eq!((&timeout["minimum"], &timeout["maximum"]), (&json!(1), &json!(300)));
    assert!(
        schema.get("$schema").is_none() && !schema.to_string().contains("$ref"),
        "{schema}"
    );
    client.end().await;

    let client = recorded_client("says").await;
    let tools = client.service.list_all_tools().await.unwrap();
    assert!(
        tools[0]
            .description
            .as_deref()
            .unwrap()
            .contains("fetch(url, init) exists")
    );
    client.end().await;
}

#[tokio::test]
async fn a_result_comes_structured_and_as_text() {
    let client = Client::start(&[]).await;
    let result = client
        .call(json!({"code": "console.log('hi'); console.error('oh'); [1, {a: 'b'}]"}))
        .await;
    assert_eq!(result.is_error, Some(false));
    assert_eq!(text(&result), "[1,{\"a\":\"b\"}]\n\nconsole:\nhi\n[error] oh");
    let answer = result.structured_content.unwrap();
    assert_eq!(answer["status"], "completed");
    assert_eq!(answer["result"], json!([1, {"a": "b"}]));
    assert_eq!(answer["error"], Value::Null);
    assert_eq!(
        answer["console"],
        json!([{"level": "log", "text": "hi"}, {"level": "error", "text": "oh"}])
    );
    assert_eq!(answer["truncated"], json!(false));
    assert!(answer["duration_ms"].is_u64() && answer["execution_id"].is_string());
    let typed = client.run("const n: number = 1; export default n + 1").await;
    assert_eq!(typed["result"], json!(2));
    assert_ne!(typed["execution_id"], answer["execution_id"]);
    assert_eq!(client.run("typeof fetch").await["result"], "undefined");
    client.end().await;
}

#[tokio::test]
async fn what_goes_wrong_in_a_script_is_a_result_and_the_next_call_works() {
    let client = Client::start(&[]).await;
    for (arguments, status, name) in [
        (
            json!({"code": "throw new RangeError('too far')"}),
            "failed",
            "RangeError",
        ),
        (json!({"code": "let x = ;"}), "failed", "SyntaxError"),
        (json!({"code": "for (;;) {}", "timeout_secs": 1}), "timed_out", ""),
        (
            json!({"code": "const a = []; for (;;) a.push(new Array(1e5).fill(a.length))", "heap_memory_max_mb": 16}),
            "out_of_memory",
            "",
        ),
        (
            json!({"code": "const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1))", "heap_memory_max_mb": 16}),
            "",
            "",
        ),
        (
            json!({"code": "await fetch('http://ok.test/')"}),
            "failed",
            "ReferenceError",
        ),
    ] {
        let result = client.call(arguments.clone()).await;
        assert_eq!(result.is_error, Some(true), "{arguments}");
        let answer = result.structured_content.unwrap();
        assert!(answer["status"] == status || status.is_empty(), "{arguments}: {answer}");
        assert!(
            answer["error"]["name"] == name || name.is_empty(),
            "{arguments}: {answer}"
        );
        assert_eq!(client.run("1 + 1").await["result"], json!(2));
    }
    client.end().await;
}

#[tokio::test]
async fn wrong_arguments_are_told_to_the_model() {
    let client = Client::start(&[]).await;
    for (arguments, says) in [
        (json!({}), "code is missing, expected the script as a string"),
        (json!({"code": 1}), "code is 1, expected the script as a string"),
        (
            json!({"code": "1", "timeout": 1}),
            "unknown argument \"timeout\"; accepted are code, timeout_secs, heap_memory_max_mb",
        ),
        (
            json!({"code": "1", "timeout_secs": 0}),
            "timeout_secs is 0, expected a whole number of seconds from 1 to 300",
        ),
        (
            json!({"code": "1", "timeout_secs": "30"}),
            "timeout_secs is a string, expected a whole number of seconds from 1 to 300",
        ),
        (
            json!({"code": "1", "heap_memory_max_mb": 1e9}),
            "heap_memory_max_mb is 1000000000.0, expected a whole number of MiB from 16 to 1024",
        ),
    ] {
        let result = client.call(arguments).await;
        assert_eq!(result.is_error, Some(true));
        let answer = result.structured_content.unwrap();
        assert_eq!(
            (&answer["status"], &answer["error"]["message"]),
            (&json!("refused"), &json!(says))
        );
    }
    let answer = client
        .call(json!({"code": "1", "timeout_secs": 30.0, "heap_memory_max_mb": null}))
        .await;
    assert_eq!(answer.is_error, Some(false));
    let unknown = client
        .service
        .call_tool(CallToolRequestParams::new("run_py"))
        .await
        .unwrap_err();
    assert!(unknown.to_string().contains("there is run_js"), "{unknown}");
    client.end().await;
}

#[tokio::test]
async fn an_effect_passes_the_stack_and_denials_come_with_their_reason() {
    let client = recorded_client("effect").await;
    let seen = client
        .run("const r = await fetch('http://ok.test/a'); [r.status, r.headers.get('x-seen'), await r.text()]")
        .await;
    assert_eq!(seen["result"], json!([200, "GET ok.test", "hello"]), "{seen}");
    for (url, name, message) in [
        (
            "http://ok.test/denied",
            "Denied",
            "fetch denied by layer (not there): http://ok.test/denied",
        ),
        (
            "http://elsewhere.test/",
            "Denied",
            "fetch denied by policy: http://elsewhere.test/",
        ),
        (
            "http://ok.test/broken",
            "HookFailed",
            "fetch stopped, layer gate.js failed",
        ),
    ] {
        let answer = client.run(&format!("await fetch('{url}')")).await;
        assert_eq!(
            (&answer["status"], &answer["error"]["name"]),
            (&json!("failed"), &json!(name)),
            "{answer}"
        );
        assert!(
            answer["error"]["message"].as_str().unwrap().starts_with(message),
            "{answer}"
        );
    }
    client.end().await;
}

#[tokio::test]
async fn progress_has_the_start_and_the_console_in_order() {
    let client = Client::start(&[]).await;
    let code = "for (let i = 0; i < 3; i++) { console.log('line ' + i); await new Promise(r => setTimeout(r, 1)); }";
    let handle = client.begin(json!({"code": code})).await;
    let token = handle.progress_token.clone();
    let first = client.next_progress().await;
    assert_eq!(
        (first.progress_token.clone(), first.message.as_deref()),
        (token.clone(), Some("started"))
    );
    handle.await_response().await.unwrap();
    let (mut told, mut last) = (String::new(), first.progress);
    while told.lines().count() < 3 {
        let note = client.next_progress().await;
        assert!(note.progress > last, "progress must grow");
        assert_eq!(note.progress_token, token);
        last = note.progress;
        told += &format!("{}\n", note.message.unwrap());
    }
    assert_eq!(told, "line 0\nline 1\nline 2\n");
    client.end().await;
}

#[tokio::test]
async fn a_cancelled_call_stops_and_frees_its_place() {
    let client = recorded_client("cancel").await;
    for code in [
        "console.log('up'); for (;;) {}",
        "console.log('up'); await fetch('http://ok.test/spin')",
        "console.log('up'); await fetch('http://ok.test/hang')",
    ] {
        // More calls than there are places: each must give its place back.
        for _ in 0..20 {
            let handle = client.begin(json!({"code": code, "timeout_secs": 300})).await;
            while client.next_progress().await.message.as_deref() != Some("up") {}
            handle.cancel(Some("enough".into())).await.unwrap();
        }
        let after = client.run("(await fetch('http://ok.test/a')).status").await;
        assert_eq!(after["result"], json!(200), "{code}: {after}");
    }
    client.end().await;
}

#[tokio::test]
async fn output_is_bounded_and_says_so() {
    let client = Client::start(&[]).await;
    for code in [
        "console.log('x'.repeat(50_000_000))",
        "for (let i = 0; i < 1_000_000; i++) console.log('line')",
        "'x'.repeat(50_000_000)",
    ] {
        let result = client.call(json!({"code": code})).await;
        let answer = result.structured_content.as_ref().unwrap();
        assert_eq!(answer["truncated"], json!(true), "{code}");
        assert!(
            text(&result).ends_with("[output was cut, there was too much of it]"),
            "{code}"
        );
        assert!(
            answer.to_string().len() < 4 << 20,
            "{code}: {}",
            answer.to_string().len()
        );
    }
    let odd = client.run("console.log('\\u2028 \\0 \\ud800'); 'a\\ud800b'").await;
    assert_eq!(odd["console"][0]["text"], "\u{2028} \0 \u{fffd}");
    assert_eq!(odd["result"], "a\u{fffd}b");
    client.end().await;
}

#[tokio::test]
async fn calls_run_at_the_same_time_and_wait_beyond_the_limit() {
    let client = Client::start(&[]).await;
    let codes = (0..40).map(|i| json!({"code": format!("await new Promise(r => setTimeout(r, 20)); {i}")}));
    let answers = futures::future::join_all(codes.map(|arguments| client.call(arguments))).await;
    for (i, answer) in answers.into_iter().enumerate() {
        assert_eq!(answer.structured_content.unwrap()["result"], json!(i));
    }
    client.end().await;
}
