//! fetch: what leaves the sandbox, what comes back, and how refusals look.

use std::sync::Arc;

use bytes::Bytes;
use seam_contract::{Error, Operation, Verdict, fetch::Response, headers::Headers};
use seam_sandbox::{Limits, Status};

use crate::support::{
    Hanging, Recording, Watching, answer, effect_failed, failure, fetching, json, on_host, run_with, seam, short,
};

#[test]
fn a_request_arrives_as_it_was_made() {
    let executor = Recording::echo();
    let outcome = fetching(
        "const r = await fetch('HTTP://Ok.test:80/a b?q=\u{e9}#frag', {
            method: 'post', headers: {'X-One': ' 1 ', 'x-two': '2'}, body: JSON.stringify({a: 1}),
         });
         [r.status, r.ok, r.redirected, r.type, r.url, r.headers.get('X-ONE'), [...r.headers], await r.json()]",
        executor.clone(),
    );
    assert_eq!(
        json(&outcome),
        concat!(
            r#"[200,true,false,"basic","http://ok.test/a%20b?q=%C3%A9","1",[["content-type","application/json"],["x-one","1"]],"#,
            r#"{"method":"POST","url":"http://ok.test/a%20b?q=%C3%A9","headers":[["x-one","1"],["x-two","2"],"#,
            r#"["content-type","text/plain;charset=UTF-8"]],"body":"{\"a\":1}"}]"#
        )
    );
    assert_eq!(executor.urls(), ["http://ok.test/a%20b?q=%C3%A9"]);
}

#[test]
fn bodies_of_every_kind_are_sent() {
    for (body, sent, kind) in [
        ("'t\u{e9}xt'", r#""t\u00e9xt""#, "text/plain;charset=UTF-8"),
        ("new Uint8Array([104, 105])", r#""hi""#, ""),
        ("new Uint8Array([0, 104, 105, 0]).subarray(1, 3)", r#""hi""#, ""),
        ("new DataView(new Uint8Array([104, 105]).buffer)", r#""hi""#, ""),
        ("new Uint8Array([104, 105]).buffer", r#""hi""#, ""),
        (
            "new Blob(['h', new Uint8Array([105])], {type: 'X/Y'})",
            r#""hi""#,
            "x/y",
        ),
        (
            "new URLSearchParams({a: 'b c', d: '&'})",
            r#""a=b+c&d=%26""#,
            "application/x-www-form-urlencoded;charset=UTF-8",
        ),
        ("new Response('hi').body", r#""hi""#, ""),
        (
            "new ReadableStream({start(c) { c.enqueue(new Uint8Array([104])); c.enqueue(new Uint8Array([105])); c.close() }})",
            r#""hi""#,
            "",
        ),
        ("{toString: () => 'hi'}", r#""hi""#, "text/plain;charset=UTF-8"),
    ] {
        let outcome = fetching(
            &format!(
                "const r = await (await fetch('http://ok.test/', {{method: 'PUT', duplex: 'half', body: {body}}})).json();
                 [r.body, Object.fromEntries(r.headers)['content-type'] ?? '']"
            ),
            Recording::echo(),
        );
        let sent = sent.replace("\\u00e9", "\u{e9}");
        assert_eq!(json(&outcome), format!("[{sent},\"{kind}\"]"), "{body}");
    }
}

#[test]
fn forms_survive_the_way_there_and_back() {
    let executor = Recording::new(|request| {
        let kind = request.headers().get_all("content-type").next().unwrap().to_owned();
        let response = Response::new(200, "http://ok.test/").unwrap();
        let headers = Headers::new([("content-type", kind)]).unwrap();
        Ok(response
            .with_headers(headers)
            .with_body(request.body().unwrap().clone())
            .unwrap())
    });
    let outcome = fetching(
        "const f = new FormData(); f.append('a', '1'); f.append('a', 'two\\nlines'); f.append('f\"x', new File(['\u{e9}'], 'n\"m.txt', {type: 'text/x'}));
         const g = await (await fetch('http://ok.test/', {method: 'POST', body: f})).formData();
         const file = g.get('f\"x');
         const u = await (await fetch('http://ok.test/', {method: 'POST', body: new URLSearchParams('p=1&q=%20&p=2')})).formData();
         [g.getAll('a'), file.name, file.type, await file.text(), file instanceof File, [...u]]",
        executor,
    );
    assert_eq!(
        json(&outcome),
        "[[\"1\",\"two\\r\\nlines\"],\"n\\\"m.txt\",\"text/x\",\"\u{e9}\",true,[[\"p\",\"1\"],[\"q\",\" \"],[\"p\",\"2\"]]]"
    );
}

#[test]
fn bytes_are_kept() {
    let executor = Recording::new(|request| Ok(answer(200, request, &(0..=255).collect::<Vec<u8>>())));
    let outcome = fetching(
        "const get = () => fetch('http://ok.test/');
         const whole = bytes => bytes.length === 256 && bytes.every((b, i) => b === i);
         const streamed = [];
         for await (const chunk of (await get()).body) streamed.push(...chunk);
         const twin = (await get()).clone();
         [whole(new Uint8Array(await (await get()).arrayBuffer())), whole(await (await get()).bytes()),
          whole(new Uint8Array(await (await (await get()).blob()).arrayBuffer())), whole(streamed), whole(await twin.bytes())]",
        executor,
    );
    assert_eq!(json(&outcome), "[true,true,true,true,true]");
}

#[test]
fn a_shared_answer_is_not_written_through() {
    let body = Bytes::from(b"constant".to_vec());
    let kept = body.clone();
    let executor = Recording::new(move |_| {
        Ok(Response::new(200, "http://ok.test/")
            .unwrap()
            .with_body(body.clone())
            .unwrap())
    });
    let outcome = fetching(
        "const a = await (await fetch('http://ok.test/')).bytes(); a.fill(0); (await (await fetch('http://ok.test/')).text())",
        executor,
    );
    assert_eq!(json(&outcome), r#""constant""#);
    assert_eq!(kept, "constant");
}

#[test]
fn bad_arguments_are_type_errors_and_nothing_is_sent() {
    let executor = Recording::echo();
    for call in [
        "fetch()",
        "fetch('')",
        "fetch('/relative')",
        "fetch('file:///etc/hosts')",
        "fetch('data:,x')",
        "fetch('blob:http://ok.test/x')",
        "fetch('http://user:pw@ok.test/')",
        "fetch('http://user@ok.test/')",
        "fetch('http://')",
        "fetch(u, {method: 'G ET'})",
        "fetch(u, {method: ''})",
        "fetch(u, {method: 'CONNECT'})",
        "fetch(u, {method: 'trace'})",
        "fetch(u, {method: 'GET', body: 'x'})",
        "fetch(u, {method: 'HEAD', body: 'x'})",
        "fetch(u, {headers: null})",
        "fetch(u, {headers: 'x'})",
        "fetch(u, {headers: [['a']]})",
        "fetch(u, {headers: {'a b': 'c'}})",
        "fetch(u, {headers: {a: 'b\\r\\nX-Evil: 1'}})",
        "fetch(u, {headers: {a: '\u{100}'}})",
        "fetch(u, {headers: {host: 'bad.test'}})",
        "fetch(u, {method: 'POST', body: 'abc', headers: {'content-length': '1'}})",
        "fetch(u, {headers: {'Transfer-Encoding': 'chunked'}})",
        "fetch(u, {redirect: 'sometimes'})",
        "fetch(u, {signal: {}})",
        "fetch(u, 5)",
        "fetch(Symbol())",
        "fetch(u, {method: 'POST', body: Symbol()})",
        "fetch('http://ok.test/' + 'a'.repeat(40000))",
        "fetch(u, {headers: Object.fromEntries(Array.from({length: 2000}, (_, i) => ['x-' + i, '1']))})",
    ] {
        let outcome = fetching(
            &format!(
                "const u = 'http://ok.test/'; const e = await {call}.then(() => 'sent', e => e); [e instanceof TypeError, String(e)]"
            ),
            executor.clone(),
        );
        assert!(json(&outcome).starts_with("[true,"), "{call}: {outcome:?}");
    }
    assert_eq!(executor.urls(), [""; 0]);
    let outcome = fetching("await fetch({toString() { throw 1 }}).catch(e => e)", executor.clone());
    assert_eq!(json(&outcome), "1");
    for fine in [
        "fetch(u, {body: null})",
        "fetch(u, {headers: undefined})",
        "fetch(u, null)",
        "fetch(new URL(u))",
        "fetch(new Request(u))",
    ] {
        let outcome = fetching(
            &format!("const u = 'http://ok.test/'; (await {fine}).status"),
            executor.clone(),
        );
        assert_eq!(json(&outcome), "200", "{fine}");
    }
}

#[test]
fn secrets_in_a_url_are_not_in_the_error() {
    let outcome = fetching("await fetch('http://user:KEY@ok.test/?t=KEY')", Recording::echo());
    assert!(!failure(&outcome).1.contains("KEY"), "{outcome:?}");
    let outcome = fetching(
        "await fetch('http://ok.test/p?t=KEY')",
        Recording::new(|_| Err(effect_failed("connection reset"))),
    );
    assert_eq!(
        failure(&outcome),
        ("TypeError", "fetch failed (connection reset): http://ok.test/p")
    );
}

#[test]
fn refusals_have_their_own_classes() {
    let executor = Recording::echo();
    let hook = Watching::new(|request| match request.url().path() {
        "/denied" => Ok(Verdict::Deny {
            reason: Some("not today".into()),
        }),
        "/broken" => Err(Error::hook("it crashed")),
        "/moved" => Ok(Verdict::Rewrite {
            to: Operation::Fetch(request.with_url("http://ok.test/new").unwrap()),
            reason: None,
        }),
        _ => Ok(Verdict::Abstain),
    });
    let seam = seam(Some(hook), executor.clone());
    let code = "const tell = p => fetch('http://ok.test' + p + '?k=1').then(r => r.url, e => [e.name, e.message, e.kind, e.by, e.reason, e instanceof Error, e instanceof TypeError]);
                [await tell('/denied'), await tell('/broken'), await tell('/moved')]";
    let outcome = on_host(async move { run_with(code, Limits::default(), &seam).await });
    assert_eq!(
        json(&outcome),
        concat!(
            r#"[["Denied","fetch denied by pre hook (not today): http://ok.test/denied","denied","pre hook","not today",true,false],"#,
            r#"["HookFailed","fetch stopped, pre hook watching failed (it crashed): http://ok.test/broken","hook-failed","pre hook","it crashed",true,false],"#,
            r#""http://ok.test/new"]"#
        )
    );
    assert_eq!(executor.urls(), ["http://ok.test/new"]);
}

#[test]
fn an_uncaught_denial_ends_the_script_by_name() {
    let hook = Watching::new(|_| Ok(Verdict::Deny { reason: None }));
    let seam = seam(Some(hook), Recording::echo());
    let outcome = on_host(async move { run_with("await fetch('http://ok.test/')", Limits::default(), &seam).await });
    assert_eq!(outcome.status, Status::Failed);
    assert_eq!(
        failure(&outcome),
        ("Denied", "fetch denied by pre hook: http://ok.test/")
    );
    assert!(
        outcome
            .error
            .as_ref()
            .unwrap()
            .stack
            .as_ref()
            .unwrap()
            .contains("run_js.ts:1"),
        "{outcome:?}"
    );
}

#[test]
fn redirects_are_not_followed() {
    let executor = Recording::new(|request| {
        let headers = Headers::new([("location", "http://bad.test/secret")]).unwrap();
        Ok(answer(302, request, b"").with_headers(headers))
    });
    let outcome = fetching(
        "const r = await fetch('http://ok.test/'); const m = await fetch('http://ok.test/', {redirect: 'manual'});
         const e = await fetch('http://ok.test/', {redirect: 'error'}).catch(e => e.name);
         [r.status, r.headers.get('location'), r.redirected, m.status, e]",
        executor.clone(),
    );
    assert_eq!(
        json(&outcome),
        r#"[302,"http://bad.test/secret",false,302,"TypeError"]"#
    );
    assert_eq!(executor.urls(), ["http://ok.test/"; 3]);
}

#[test]
fn answers_without_a_body_have_none() {
    let executor = Recording::new(|request| {
        Ok(answer(
            if request.url().path() == "/204" { 204 } else { 200 },
            request,
            b"x",
        ))
    });
    let outcome = fetching(
        "const a = await fetch('http://ok.test/204'); const b = await fetch('http://ok.test/', {method: 'HEAD'});
         [a.status, a.body, await a.text(), b.body, await b.text()]",
        executor,
    );
    assert_eq!(json(&outcome), r#"[204,null,"",null,""]"#);
}

#[test]
fn aborting_drops_the_operation() {
    on_host(async {
        let hanging = Arc::new(Hanging::default());
        let seam = seam(None, hanging.clone());
        let outcome = run_with(
            "const c = new AbortController(); const f = fetch('http://ok.test/', {signal: c.signal}).catch(e => [e.name, e === c.signal.reason]);
             setTimeout(() => c.abort(), 20); const aborted = await f;
             const reason = await fetch('http://ok.test/', {signal: AbortSignal.abort('why')}).catch(e => e);
             const timed = await fetch(new Request('http://ok.test/', {signal: AbortSignal.timeout(20)})).catch(e => e.name);
             [aborted, reason, timed]",
            Limits::default(),
            &seam,
        )
        .await;
        assert_eq!(json(&outcome), r#"[["AbortError",true],"why","TimeoutError"]"#);
        assert_eq!(
            (*hanging.begun.lock().unwrap(), *hanging.dropped.lock().unwrap()),
            (2, 2)
        );
    });
}

#[test]
fn unawaited_operations_are_waited_for_until_the_limit() {
    let executor = Recording::echo();
    let outcome = fetching(
        "fetch('http://ok.test/').then(() => console.log('answered')); 'end'",
        executor.clone(),
    );
    assert_eq!(json(&outcome), r#""end""#);
    assert_eq!(outcome.console[0].text, "answered");
    on_host(async {
        let hanging = Arc::new(Hanging::default());
        let outcome = run_with("fetch('http://ok.test/'); 1", short(100), &seam(None, hanging.clone())).await;
        assert_eq!(outcome.status, Status::TimedOut);
        assert_eq!(*hanging.dropped.lock().unwrap(), 1);
    });
}

#[test]
fn two_hundred_at_once_half_of_them_denied() {
    let executor = Recording::echo();
    let odd = |request: &seam_contract::fetch::Request| request.url().path()[1..].parse::<u32>().unwrap() % 2 == 1;
    let hook = Watching::new(move |request| {
        Ok(if odd(request) {
            Verdict::Deny { reason: None }
        } else {
            Verdict::Abstain
        })
    });
    let seam = seam(Some(hook.clone()), executor.clone());
    let code = "const all = await Promise.allSettled(Array.from({length: 200}, async (_, i) => (await (await fetch('http://ok.test/' + i)).json()).url));
                [all.every((r, i) => i % 2 ? r.reason?.name === 'Denied' : r.value === 'http://ok.test/' + i), all.length]";
    let outcome = on_host(async move { run_with(code, Limits::default(), &seam).await });
    assert_eq!(json(&outcome), "[true,200]");
    assert_eq!(executor.urls().len(), 100);
    assert_eq!(hook.documents.lock().unwrap().len(), 200);
}

#[test]
fn operations_are_bounded() {
    on_host(async {
        let hanging = Arc::new(Hanging::default());
        let code = "let refused = 0; for (let i = 0; i < 5000; i++) fetch('http://ok.test/').catch(e => { refused++ });
                    await new Promise(r => setTimeout(r, 300)); console.log(refused); await new Promise(r => setTimeout(r, 60000))";
        let outcome = run_with(code, short(3000), &seam(None, hanging.clone())).await;
        assert_eq!(outcome.status, Status::TimedOut);
        assert_eq!(outcome.console[0].text, (5000 - 4096).to_string());
        assert_eq!(*hanging.begun.lock().unwrap(), 64);
    });
}

#[test]
fn an_answer_that_does_not_fit_is_an_error() {
    let executor = Recording::new(|request| Ok(answer(200, request, &vec![0; 20 << 20])));
    let limits = Limits {
        heap_mb: 16,
        ..Limits::default()
    };
    let outcome =
        on_host(async move { run_with("await fetch('http://ok.test/')", limits, &seam(None, executor)).await });
    assert_eq!(
        failure(&outcome),
        ("TypeError", "there is no memory left for the answer")
    );
}
