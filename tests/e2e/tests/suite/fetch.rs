//! `fetch` from the script's call to the server's socket: allowed, denied, rewritten, and
//! the ways around that must not work.

use anyhow::{Result, ensure};
use seam_e2e::{Files, Recorder, Session};
use serde_json::{Value, json};

use crate::{outcomes, serve};

/// A policy that lets through one host and port, by the parts of the parsed URL.
fn only(host: &str, port: &str) -> String {
    format!(
        "package mcp.fetch
         allow if {{ input.url_parsed.host == \"{host}\"; input.url_parsed.port == {port} }}
         allow := {{\"allow\": false, \"reason\": concat(\" \", [\"not\", input.url_parsed.host])}} if {{
           not input.url_parsed.host == \"{host}\"
         }}"
    )
}

/// An executor that answers with what it was asked for.
const ECHO: &str = "
    function handle(input) {
      const text = JSON.stringify({ url: input.url, parsed: input.url_parsed });
      const bytes = unescape(encodeURIComponent(text));
      const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
      let body = '';
      for (let at = 0; at < bytes.length; at += 3) {
        const [a, b, c] = [0, 1, 2].map((more) => bytes.charCodeAt(at + more) || 0);
        const group = (a << 16) | (b << 8) | c;
        for (let part = 0; part < 4; part++) {
          body += part <= bytes.length - at ? alphabet[(group >> (18 - 6 * part)) & 63] : '=';
        }
      }
      return { status: 200, url: input.url, headers: {}, body, bodyEncoding: 'base64' };
    }";

async fn texts(session: &Session, code: &str) -> Result<Vec<String>> {
    let run = session.run(code).await?;
    Ok(serde_json::from_value(run.value()?.clone())?)
}

#[tokio::test]
async fn allowed_denied_rewritten() -> Result<()> {
    let (server, files) = (Recorder::start().await?, Files::new()?);
    let policy = files.write(
        "policy.rego",
        "package mcp.fetch\nallow if not startswith(input.url_parsed.path, \"/status/5\")",
    )?;
    let hook = files.write(
        "hook.js",
        "function pre(input) {
           if (input.url.endsWith('/no')) return { allow: false, reason: 'no is no' };
           if (input.url.endsWith('/old')) return { input: { ...input, url: input.url.replace('/old', '/ok?new') } };
         }",
    )?;
    let session = serve(json!({"policies": [{"url": policy}], "pre": [{"url": hook}]})).await?;
    let urls = ["/ok", "/old", "/no", "/status/503"].map(|path| server.url(path));
    let seen = texts(&session, &outcomes(&urls)).await?;
    let [no, five] = [server.url("/no"), server.url("/status/503")];
    assert_eq!(
        seen,
        [
            "200".to_owned(),
            "200".to_owned(),
            format!("Denied: fetch denied by pre hook (no is no): {no}"),
            format!("Denied: fetch denied by policy: {five}"),
        ]
    );
    assert_eq!(server.targets(), ["/ok", "/ok?new"]);
    session.close().await
}

/// F01: a redirect comes back as it is; nobody follows it below the policy.
#[tokio::test]
async fn a_redirect_is_not_followed_beneath_the_stack() -> Result<()> {
    let (good, bad, files) = (Recorder::start().await?, Recorder::start().await?, Files::new()?);
    let policy = files.write("policy.rego", &only("127.0.0.1", &good.port().to_string()))?;
    let session = serve(json!({"policies": [{"url": policy}]})).await?;
    let secret = bad.url("/ok");
    let code = format!(
        "const r = await fetch({});
         const direct = await fetch({secret:?}).catch((error) => error.name);
         [r.status, r.redirected, r.headers.get('location'), await r.text(), direct]",
        json!(good.url(&format!("/redirect?{secret}")))
    );
    let run = session.run(&code).await?;
    assert_eq!(*run.value()?, json!([302, false, secret, "elsewhere", "Denied"]));
    assert_eq!(bad.hits().len(), 0);
    session.close().await
}

/// F03: a policy sees one spelling of an address, whatever the script writes.
#[tokio::test]
async fn a_denied_address_is_denied_in_every_spelling() -> Result<()> {
    let (server, files) = (Recorder::start().await?, Files::new()?);
    let policy = files.write(
        "policy.rego",
        "package mcp.fetch\nallow if input.url_parsed.host != \"127.0.0.1\"",
    )?;
    let session = serve(json!({"policies": [{"url": policy}]})).await?;
    let spellings = [
        "127.0.0.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "[::ffff:127.0.0.1]",
        "127.0.0.1.",
    ];
    let urls = spellings.map(|host| format!("http://{host}:{}/ok", server.port()));
    for (spelling, seen) in spellings.iter().zip(texts(&session, &outcomes(&urls)).await?) {
        assert_eq!(
            seen,
            format!("Denied: fetch denied by policy: {}", server.url("/ok")),
            "{spelling}"
        );
    }
    assert_eq!(server.hits().len(), 0);
    session.close().await
}

/// F06, F08: the host that the policy saw is the host that gets the connection.
#[tokio::test]
async fn one_parser_decides_what_the_host_is() -> Result<()> {
    let files = Files::new()?;
    let policy = files.write(
        "policy.rego",
        "package mcp.fetch\nallow if input.url_parsed.host == \"ok.test\"",
    )?;
    let echo = files.write("echo.js", ECHO)?;
    let session = serve(json!({"policies": [{"url": policy}], "stack": [{"execute": {"url": echo}}]})).await?;
    for (written, url, port) in [
        ("HTTPS://OK.TEST./p", "https://ok.test/p", Value::Null),
        ("http://ok.test.:80/p", "http://ok.test/p", Value::Null),
        ("http://ok\u{3002}test/", "http://ok.test/", Value::Null),
        ("http://ok.test#@bad.test/", "http://ok.test/", Value::Null),
        ("http://ok.test\\@bad.test/", "http://ok.test/@bad.test/", Value::Null),
        (
            "http://ok.test:8080\\@bad.test:81/",
            "http://ok.test:8080/@bad.test:81/",
            json!(8080),
        ),
    ] {
        let run = session
            .run(&format!("(await fetch({})).json()", json!(written)))
            .await?;
        let seen = run.value()?;
        assert_eq!(seen["url"], url, "{written}");
        assert_eq!(seen["parsed"]["host"], "ok.test", "{written}");
        assert_eq!(seen["parsed"]["port"], port, "{written}");
    }
    let userinfo = [
        "http://ok.test@bad.test/",
        "http://ok.test:80@bad.test/",
        "http://a:b@ok.test/",
    ];
    for seen in texts(&session, &outcomes(&userinfo.map(str::to_owned))).await? {
        assert!(seen.starts_with("TypeError: "), "{seen}");
        assert!(!seen.contains("a:b"), "userinfo is shown: {seen}");
    }
    session.close().await
}

/// F08 once more, down to the socket.
#[tokio::test]
async fn what_looks_like_another_host_does_not_get_the_connection() -> Result<()> {
    let (good, bad, files) = (Recorder::start().await?, Recorder::start().await?, Files::new()?);
    let policy = files.write("policy.rego", &only("127.0.0.1", &good.port().to_string()))?;
    let session = serve(json!({"policies": [{"url": policy}]})).await?;
    let (at, other) = (good.url(""), format!("127.0.0.1:{}", bad.port()));
    let urls = [
        format!("{at}#@{other}/"),
        format!("{at}\\@{other}/"),
        format!("{at}@{other}/"),
    ];
    let seen = texts(&session, &outcomes(&urls)).await?;
    assert_eq!(seen[..2], ["404", "404"]);
    assert!(seen[2].starts_with("TypeError: "), "{}", seen[2]);
    assert_eq!(good.targets(), ["/".to_owned(), format!("/@{other}/")]);
    assert_eq!(bad.hits().len(), 0);
    session.close().await
}

/// F15: arguments that no request can be made of are errors of the script, before any hook.
#[tokio::test]
async fn arguments_at_the_edge() -> Result<()> {
    let (server, files) = (Recorder::start().await?, Files::new()?);
    let hook = files.write(
        "count.js",
        "let calls = 0; function pre() { calls++; return { reason: `call ${calls}` }; }",
    )?;
    let session = serve(json!({"pre": [{"url": hook}]})).await?;
    let url = json!(server.url("/echo"));
    for arguments in [
        format!("{url}, {{ method: 'GET', body: 'x' }}"),
        format!("{url}, {{ method: 'HEAD', body: 'x' }}"),
        format!("{url}, {{ headers: null }}"),
        format!("{url}, {{ method: 'G ET' }}"),
        format!("{url}, {{ method: 'CONNECT' }}"),
        format!("{url}, {{ headers: {{ 'a b': '1' }} }}"),
        format!("{url}, {{ headers: {{ a: 'b\\nc' }} }}"),
        "''".into(),
        "'file:///etc/hosts'".into(),
        "'data:,x'".into(),
        "'javascript:1'".into(),
        "'http://'".into(),
        "'/relative'".into(),
        "".into(),
        "Symbol('x')".into(),
    ] {
        let run = session.run(&format!("await fetch({arguments})")).await?;
        let error = run.error()?;
        assert!(error.starts_with("TypeError: "), "fetch({arguments}) gives {error}");
    }
    let thrown = session
        .run("await fetch({ toString() { throw 1; } }).then(() => 0, (error) => error)")
        .await?;
    assert_eq!(*thrown.value()?, json!(1));
    assert_eq!(server.hits().len(), 0, "nothing was sent");

    let run = session
        .run(&format!("(await (await fetch({url}, {{ body: null }})).json()).method"))
        .await?;
    assert_eq!(*run.value()?, json!("GET"));
    let run = session
        .run(&format!(
            "(await (await fetch({url}, {{ method: 'post', body: null }})).json()).body"
        ))
        .await?;
    assert_eq!(*run.value()?, json!(""));
    ensure!(server.hits().len() == 2, "two were sent");
    session.close().await
}

/// Without a configuration there is no fetch, and the tool says so.
#[tokio::test]
async fn what_is_not_configured_does_not_exist() -> Result<()> {
    let session = Session::start(seam_e2e::Product::find()?.command("serve")).await?;
    let run = session
        .run("[typeof fetch, typeof Deno, typeof process, typeof require, typeof WebAssembly]")
        .await?;
    assert_eq!(*run.value()?, json!(vec!["undefined"; 5]));
    let tools = session.tools().await?;
    let description = tools[0].description.as_deref().unwrap_or_default();
    assert!(description.contains("fetch does not exist"), "{description}");
    session.close().await
}
