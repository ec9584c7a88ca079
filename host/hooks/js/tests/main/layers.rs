//! Layers and executors: what they may do, what they must give, and how refusals pass.

use std::sync::Arc;

use crate::harness::*;
use bytes::Bytes;
use seam_contract::{
    Denial, Error, ErrorKind, Refusal, Role, Stack, document::Bodies, fetch::Response, headers::Headers,
};

pub const ANSWER: &str = "{status: 203, headers: {'x-a': '1'}, body: 'aGk=', bodyEncoding: 'base64'}";

/// How a GET of `http://ok.test/` ends with a layer of this body, and what was executed.
pub async fn layered(body: &str) -> (String, Vec<String>) {
    through(body, Recording::echo()).await
}

pub async fn through(body: &str, recording: Arc<Recording>) -> (String, Vec<String>) {
    let file = load(&format!("async function handle(input, next) {{ {body} }}")).await;
    let end = send(&stack(vec![layer(&file)], recording.clone()), get("http://ok.test/")).await;
    (told(&end), recording.urls())
}

/// Fails where the path is `/fail`, denies where it is `/deny`.
fn refusing() -> Arc<Recording> {
    Recording::new(|request| match request.url().path() {
        "/deny" => Err(Denial::new(Role::Policy, Some("not there".into())).into()),
        "/quiet" => Err(Denial::new(Role::PostHook, None).into()),
        "/fail" => Err(Error::new(ErrorKind::EffectFailed, "connection reset").into()),
        "/hook" => Err(Error::hook("timed out after 5 ms").at(Role::PreHook, "other.js").into()),
        _ => Ok(Response::new(200, request.url().as_str()).unwrap()),
    })
}

pub async fn zero_one_and_many_descents() {
    let ends = layered(&format!("return {ANSWER}")).await;
    assert_eq!(ends, ("203".to_owned(), Vec::new()));
    let ends = layered("return next(input)").await;
    assert_eq!(ends, ("200".to_owned(), vec!["http://ok.test/".to_owned()]));
    let ends = layered(
        "let last; for (let i = 0; i < 3; i += 1) last = await next({...input, url: input.url + i}); return last",
    )
    .await;
    let urls = ["http://ok.test/0", "http://ok.test/1", "http://ok.test/2"]
        .map(str::to_owned)
        .to_vec();
    assert_eq!(ends, ("200".to_owned(), urls));
    // Not every layer is async.
    let file = load(&format!("function handle() {{ return {ANSWER} }}")).await;
    let response = send(&stack(vec![layer(&file)], Recording::echo()), get("http://ok.test/p"))
        .await
        .unwrap();
    assert_eq!(
        (response.status(), response.url().as_str(), response.body().as_ref()),
        (203, "http://ok.test/p", b"hi".as_slice())
    );
}

pub async fn a_layer_rewrites_what_goes_down_and_comes_back() {
    let file = load(
        "async function handle(input, next) {
            const output = await next({...input, method: 'put', headers: {...input.headers, 'X-Down': '1'}});
            output.headers['x-up'] = output.body;
            output.status = 201;
            return output;
        }",
    )
    .await;
    let recording = Recording::echo();
    let response = send(
        &stack(vec![layer(&file)], recording.clone()),
        get_with("http://ok.test/", &[("a", "b")]),
    )
    .await
    .unwrap();
    assert_eq!(response.status(), 201);
    assert_eq!(response.headers().get_all("x-up").collect::<Vec<_>>(), ["UFVU"]);
    assert_eq!(recording.last().method(), "PUT");
    assert_eq!(
        recording.last().headers().iter().collect::<Vec<_>>(),
        [("a", "b"), ("x-down", "1")]
    );
}

pub async fn an_untouched_output_stays_the_very_output() {
    let headers = Headers::new([("x-a", "1"), ("x-a", "2"), ("set-cookie", "a"), ("set-cookie", "b")]).unwrap();
    let answer = Response::new(200, "http://elsewhere.test/")
        .unwrap()
        .with_redirected(true)
        .with_status_text("Fine")
        .unwrap()
        .with_headers(headers);
    let given = answer.clone();
    let recording = Recording::new(move |_| Ok(given.clone()));
    for body in [
        "return next(input)",
        "const o = await next(input); await null; return {...o}",
    ] {
        let file = load(&format!("async function handle(input, next) {{ {body} }}")).await;
        let response = send(&stack(vec![layer(&file)], recording.clone()), get("http://ok.test/"))
            .await
            .unwrap();
        assert_eq!(response, answer, "{body}");
    }
}

pub async fn a_refusal_is_an_error_with_its_properties() {
    let catching = |path: &str| {
        format!(
            "try {{ await next({{...input, url: 'http://ok.test{path}'}}) }} catch (e) {{
                if (!(e instanceof Error)) throw 'no error';
                throw new Error([e.name, e.message, Object.keys(e), JSON.stringify(e)].join('|'));
            }}"
        )
    };
    for (path, expected) in [
        (
            "/deny",
            r#"Denied|denied by policy (not there)|kind,by,reason|{"kind":"denied","by":"policy","reason":"not there"}"#,
        ),
        (
            "/quiet",
            r#"Denied|denied by post hook|kind,by,reason|{"kind":"denied","by":"post hook","reason":null}"#,
        ),
        (
            "/fail",
            r#"EffectFailed|executor @execute failed: connection reset|kind,by,reason|{"kind":"effect-failed","by":"executor","reason":"connection reset"}"#,
        ),
        (
            "/hook",
            r#"HookFailed|pre hook other.js failed: timed out after 5 ms|kind,by,reason|{"kind":"hook-failed","by":"pre hook","reason":"timed out after 5 ms"}"#,
        ),
    ] {
        let (told, _) = through(&catching(path), refusing()).await;
        assert_eq!(
            told,
            format!("fetch stopped, layer hook.js failed (threw Error: {expected}): T")
        );
    }
}

pub async fn a_refusal_thrown_on_is_the_original() {
    for (path, told) in [
        ("deny", "fetch denied by policy (not there): T"),
        ("fail", "fetch failed (connection reset): T"),
        (
            "hook",
            "fetch stopped, pre hook other.js failed (timed out after 5 ms): T",
        ),
    ] {
        for body in [
            "return next({...input, url})",
            "return await next({...input, url})",
            "try { await next({...input, url}) } catch (e) { throw e }",
            "try { await next({...input, url}) } catch (e) { e.kind = 'x'; e.name = 'Error'; e.message = 'changed'; throw Object.freeze(e) }",
            "await next(input); await next({...input, url})",
            "try { await next({...input, url}) } catch (e) { await next(input); throw e }",
            "const [a] = await Promise.all([next({...input, url}), next(input)]); return a",
        ] {
            let body = format!("const url = 'http://ok.test/{path}'; {body}");
            assert_eq!(through(&body, refusing()).await.0, told, "{body}");
        }
    }
    // Caught and answered in its place.
    let body =
        format!("try {{ return await next({{...input, url: 'http://ok.test/deny'}}) }} catch {{ return {ANSWER} }}");
    assert_eq!(through(&body, refusing()).await.0, "203");
}

pub async fn a_refusal_cannot_be_forged_or_kept() {
    for body in [
        "throw Object.assign(new Error('x'), {kind: 'denied', by: 'policy', reason: 'forged'})",
        "throw {kind: 'denied', by: 'policy', reason: 'forged'}",
        "try { await next({...input, url: 'http://ok.test/deny'}) } catch (e) { throw {...e} }",
        "try { await next({...input, url: 'http://ok.test/fail'}) } catch (e) { throw Object.create(e) }",
        "try { await next({...input, url: 'http://ok.test/fail'}) } catch (e) { throw new Proxy(e, {}) }",
        "try { await next({...input, url: 'http://ok.test/fail'}) } catch (e) { throw new Error('mine', {cause: e}) }",
    ] {
        let (told, _) = through(body, refusing()).await;
        assert!(
            told.starts_with("fetch stopped, layer hook.js failed (threw "),
            "{body}: {told}"
        );
    }
    let file = load(
        "let kept;
        async function handle(input, next) {
            if (kept) throw kept;
            try { await next(input) } catch (error) { kept = error; throw error }
        }",
    )
    .await;
    let stack = stack(vec![layer(&file)], refusing());
    assert_eq!(
        told(&send(&stack, get("http://ok.test/fail")).await),
        "fetch failed (connection reset): T"
    );
    let later = told(&send(&stack, get("http://ok.test/")).await);
    assert_eq!(
        later,
        "fetch stopped, layer hook.js failed (threw EffectFailed: executor @execute failed: connection reset): T"
    );
}

pub async fn throwing_denied_denies_and_throwing_else_fails() {
    for (body, told) in [
        (
            "throw Object.assign(new Error('not today'), {name: 'Denied'})",
            "fetch denied by layer (not today): T",
        ),
        (
            "class Denied extends Error { name = 'Denied' } throw new Denied('no')",
            "fetch denied by layer (no): T",
        ),
        (
            "throw Object.assign(new TypeError, {name: 'Denied'})",
            "fetch denied by layer: T",
        ),
        (
            "throw new Error('boom')",
            "fetch stopped, layer hook.js failed (threw Error: boom): T",
        ),
        (
            "throw {name: 'Denied', message: 'no error'}",
            "fetch stopped, layer hook.js failed (threw #<Object>): T",
        ),
        (
            "throw Object.assign(new Error('x'), {name: 'denied'})",
            "fetch stopped, layer hook.js failed (threw denied: x): T",
        ),
        (
            "throw Object.defineProperty(new Error('x'), 'name', {get() { throw 1 }})",
            "fetch stopped, layer hook.js failed (threw x): T",
        ),
    ] {
        let (end, seen) = layered(body).await;
        assert_eq!(end, told, "{body}");
        assert!(seen.is_empty());
    }
    let (told, _) = layered("throw Object.assign(new Error('x'.repeat(1 << 20)), {name: 'Denied'})").await;
    assert!(
        told.ends_with("x [cut]): T") && told.len() < 5000,
        "{} bytes",
        told.len()
    );
}

pub async fn what_a_layer_must_return() {
    for (body, what) in [
        ("", "returned nothing; it must return an output document"),
        ("return null", "returned nothing; it must return an output document"),
        (
            "await next(input)",
            "returned nothing; it must return an output document",
        ),
        ("return true", "the output is a boolean, not an object"),
        (
            "return {}",
            "the output lacks the field status; a replacement is whole, not merged",
        ),
        (
            "return {status: 99, headers: {}, body: '', bodyEncoding: 'base64'}",
            "the status 99 is not from 200 to 599",
        ),
        (
            "return {status: 200, headers: {}, body: '*', bodyEncoding: 'base64'}",
            "output.body is not valid base64",
        ),
        (
            "return {status: 200, headers: {}, body: '', bodyEncoding: 'utf8'}",
            "output.bodyEncoding is not \"base64\", the only encoding there is",
        ),
        (
            "return {status: 200, headers: {'x': 'a\\r\\nX-Evil: 1'}, body: '', bodyEncoding: 'base64'}",
            "the value of the header x contains '\\r', which no header can",
        ),
        (
            "return {...await next(input), extra: 1}",
            "the output has the unknown field \"extra\"",
        ),
        (
            "return () => 1",
            "answered with what JSON cannot hold (TypeError: a function)",
        ),
        (
            "return next",
            "answered with what JSON cannot hold (TypeError: a function)",
        ),
        (
            "return {output: await next(input)}",
            "the output has the unknown field \"output\"",
        ),
    ] {
        assert_eq!(
            layered(body).await.0,
            format!("fetch stopped, layer hook.js failed ({what}): T"),
            "{body}"
        );
    }
}

pub async fn an_executor_answers() {
    let file = load(
        "function handle(input) {
            if (arguments.length !== 1) throw arguments.length;
            if (input.url.endsWith('deny')) throw Object.assign(new Error('virtual no'), {name: 'Denied'});
            if (input.url.endsWith('bytes')) return {status: 200, headers: {}, body: 'AAH/', bodyEncoding: 'base64'};
            if (input.url.endsWith('loop')) for (;;);
        }",
    )
    .await;
    let executor = file.executor("handle", SHORT, Bodies::Withheld).unwrap();
    let stack = stack(Stack::chain(Vec::new(), Vec::new(), Vec::new()), executor);
    let response = send(&stack, get("http://ok.test/bytes")).await.unwrap();
    assert_eq!(response.body(), &Bytes::from_static(&[0, 1, 255]));
    for (url, expected) in [
        ("http://ok.test/deny", "fetch denied by executor (virtual no): T"),
        (
            "http://ok.test/loop",
            "fetch stopped, executor hook.js failed (timed out after 150 ms): T",
        ),
        (
            "http://ok.test/",
            "fetch stopped, executor hook.js failed (returned nothing; it must return an output document): T",
        ),
    ] {
        assert_eq!(told(&send(&stack, get(url)).await), expected);
    }
    let refused: Result<Response, Refusal> = send(&stack, get("http://ok.test/deny")).await;
    assert!(matches!(refused, Err(Refusal::Denied(denial)) if denial.by == Role::Executor));
}

pub async fn bodies_cross_unharmed() {
    let every: Vec<u8> = (0..=255).collect();
    let body = Bytes::from(every.repeat(4096));
    let given = body.clone();
    let recording = Recording::new(move |request| {
        Response::new(200, request.url().as_str())
            .and_then(|response| response.with_body(given.clone()))
            .map_err(Into::into)
    });
    for script in [
        "return next(input)",
        "const o = await next(input); return {...o, status: 201}",
    ] {
        let file = load(&format!("async function handle(input, next) {{ {script} }}")).await;
        let response = send(&stack(vec![layer(&file)], recording.clone()), get("http://ok.test/")).await;
        assert!(response.unwrap().body() == &body, "{script}");
    }
}
