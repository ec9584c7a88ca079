//! `next` of a layer: what it takes, when it has an effect, and when it ends.

use std::sync::Arc;

use seam_contract::{Stack, document::Bodies, fetch::Response};
use seam_hook_js::MAX_DESCENTS;

use crate::{
    harness::*,
    layers::{ANSWER, layered, through},
};

pub async fn next_takes_a_document() {
    for (argument, what) in [
        ("", "next takes an input document, got undefined"),
        ("null", "next takes an input document, got null"),
        ("'x'", "next takes an input document, got string"),
        ("() => 1", "next takes an input document, got function"),
        ("[]", "next takes an input document, got object"),
        ("{...input, url: 1n}", "a bigint as url"),
        ("{toJSON() { throw new TypeError('mine') }}", "mine"),
    ] {
        let body = format!(
            "const promise = next({argument});
            if (Object.getPrototypeOf(promise) !== Promise.prototype) throw 'no promise';
            await promise"
        );
        let (told, seen) = layered(&body).await;
        assert_eq!(
            told,
            format!("fetch stopped, layer hook.js failed (threw TypeError: {what}): T"),
            "{argument}"
        );
        assert!(seen.is_empty());
    }
    let ends = layered("try { new next(input) } catch (e) { throw e.message + next.length }").await;
    assert_eq!(
        ends.0,
        "fetch stopped, layer hook.js failed (threw next is not a constructor1): T"
    );
}

pub async fn a_bad_input_for_next_names_the_field() {
    for (argument, what) in [
        ("{...input, operation: 'read'}", "changed the pinned field operation"),
        (
            "{...input, url_parsed: {}}",
            "changed the derived field url_parsed; rewrite what it follows from",
        ),
        (
            "{url: input.url}",
            "the input lacks the field method; a replacement is whole, not merged",
        ),
        (
            "{...input, url: 'file:///etc/hosts'}",
            "the scheme file is not supported, only http and https are",
        ),
        (
            "{...input, headers: {...input.headers, host: 'bad.test'}}",
            "the header host belongs to the transport and cannot be set",
        ),
        (
            "{...input, headers: {x: 'a\\r\\nb'}}",
            "the value of the header x contains '\\r', which no header can",
        ),
    ] {
        let caught = format!(
            "try {{ await next({argument}) }} catch (e) {{ throw e.kind === 'hook-failed' && e.by === 'layer' ? e : 'other' }}"
        );
        let (told, seen) = layered(&caught).await;
        assert_eq!(
            told,
            format!("fetch stopped, layer hook.js failed ({what}): T"),
            "{argument}"
        );
        assert!(seen.is_empty());
    }
}

pub async fn next_has_no_effect_once_the_layer_has_settled() {
    let file = load(
        "let late, seen = 'nothing';
        async function handle(input, next) {
            if (late) {
                try { await late(input) } catch (error) { seen = [error.name, error.kind, error.message].join() }
                throw seen;
            }
            late = next;
            return next(input);
        }",
    )
    .await;
    let recording = Recording::echo();
    let stack = stack(vec![layer(&file)], recording.clone());
    assert_eq!(told(&send(&stack, get("http://ok.test/")).await), "200");
    let told = told(&send(&stack, get("http://ok.test/")).await);
    let expected = "Cancelled,cancelled,layer hook.js failed: next was used after its layer had settled";
    assert_eq!(
        told,
        format!("fetch stopped, layer hook.js failed (threw {expected}): T")
    );
    assert_eq!(recording.count(), 1);
}

pub async fn a_descent_nobody_waits_for_has_no_effect() {
    for body in [
        format!("next(input); return {ANSWER}"),
        format!("next(input); await null; await null; return {ANSWER}"),
        format!("next(input).then(() => {{ throw 1 }}); return {ANSWER}"),
    ] {
        assert_eq!(layered(&body).await, ("203".to_owned(), Vec::new()), "{body}");
    }
    let (told, seen) = layered("next(input); throw new Error('x')").await;
    assert!(told.contains("threw Error: x") && seen.is_empty());

    // Nor is it sent with a later call.
    let file = load(
        "let n = 0;
        async function handle(input, next) {
            n += 1;
            if (n === 1) { next({...input, url: 'http://ok.test/forgotten'}); throw new Error('first') }
            return await next(input);
        }",
    )
    .await;
    let recording = Recording::echo();
    let stack = stack(vec![layer(&file)], recording.clone());
    assert!(told_of(&stack).await.contains("threw Error: first"));
    assert_eq!(told_of(&stack).await, "200");
    assert_eq!(recording.urls(), ["http://ok.test/"]);
}

async fn told_of(stack: &Arc<Stack>) -> String {
    told(&send(stack, get("http://ok.test/")).await)
}

pub async fn descents_in_flight_end_with_the_layer() {
    /// Says when it is dropped.
    struct Dropped(tokio::sync::mpsc::UnboundedSender<()>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }
    let (gone, mut goings) = tokio::sync::mpsc::unbounded_channel();
    let recording = Recording::later(move |request| {
        let answer = Ok(Response::new(200, request.url().as_str()).unwrap());
        let guard = (request.url().path() == "/hang").then(|| Dropped(gone.clone()));
        Box::pin(async move {
            if guard.is_some() {
                std::future::pending::<()>().await;
            }
            answer
        })
    });
    let file = load(
        "let n = 0;
        async function handle(input, next) {
            n += 1;
            if (n > 1) await new Promise(() => {});
            return Promise.race([next({...input, url: 'http://ok.test/hang'}), next(input)]);
        }",
    )
    .await;
    let stack = stack(vec![layer(&file)], recording.clone());
    let told = told_of(&stack).await;
    let mut seen = recording.urls();
    seen.sort();
    assert_eq!(
        (told.as_str(), seen),
        (
            "200",
            vec!["http://ok.test/".to_owned(), "http://ok.test/hang".to_owned()]
        )
    );
    tokio::time::timeout(AMPLE, goings.recv()).await.unwrap().unwrap();
    // What it waited for in vain is forgotten: a later call doesn't wait for it.
    let stalled = "fetch stopped, layer hook.js failed (waits for a promise that nothing will settle): T";
    assert_eq!(told_of(&stack).await, stalled);
}

pub async fn descents_run_side_by_side() {
    // Each answers only once both are there.
    let barrier = Arc::new(tokio::sync::Barrier::new(2));
    let recording = Recording::later(move |request| {
        let answer = Ok(Response::new(200, request.url().as_str()).unwrap());
        let barrier = barrier.clone();
        Box::pin(async move {
            barrier.wait().await;
            answer
        })
    });
    let body = "const [a, b] = await Promise.all([next({...input, url: 'http://ok.test/1'}), next({...input, url: 'http://ok.test/2'})]);
        if (a.url !== 'http://ok.test/1' || b.url !== 'http://ok.test/2') throw 'mixed up';
        return b";
    assert_eq!(through(body, recording).await.0, "200");
}

pub async fn descents_are_counted() {
    let (told, seen) = layered("for (;;) await next(input)").await;
    assert_eq!(
        told,
        format!(
            "fetch stopped, layer hook.js failed (threw TypeError: next was used more than {MAX_DESCENTS} times): T"
        )
    );
    assert_eq!(seen.len(), MAX_DESCENTS);
}

pub async fn changing_the_input_after_next_changes_nothing() {
    let body = "const promise = next(input); input.url = 'http://bad.test/'; const output = await promise;
        if (output.url !== 'http://ok.test/') throw output.url;
        const again = next(output.url && {...input, url: 'http://ok.test/2'}); output.status = 500; return again";
    let (told, seen) = layered(body).await;
    assert_eq!(
        (told.as_str(), seen),
        ("200", vec!["http://ok.test/".to_owned(), "http://ok.test/2".to_owned()])
    );
}

pub async fn time_inside_next_counts() {
    let file = load("async function handle(input, next) { return next(input) }").await;
    let short = file.layer("handle", SHORT, Bodies::Withheld).unwrap();
    let hanging = Recording::later(|_| Box::pin(std::future::pending()));
    let end = send(&stack(vec![short], hanging), get("http://ok.test/")).await;
    assert_eq!(
        told(&end),
        "fetch stopped, layer hook.js failed (timed out after 150 ms): T"
    );
    let next = send(&stack(vec![layer(&file)], Recording::echo()), get("http://ok.test/")).await;
    assert_eq!(told(&next), "200");
}
