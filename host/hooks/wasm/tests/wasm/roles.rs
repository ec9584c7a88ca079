//! Verdicts and rewrites of every typed role, as a stack takes them.

use seam_contract::{Denial, Error, ErrorKind, Refusal, Role, document::Bodies};

use crate::support::{Bench, Recording, answer, get, load, refused, request};

#[tokio::test]
async fn a_pre_hook_allows_denies_and_abstains() {
    let bench = Bench::pre(&load("vectors.wasm"), Bodies::Withheld);
    assert_eq!(bench.run(get(&[])).await.unwrap().status(), 200);
    assert_eq!(bench.reason(0), None);

    bench.run(get(&[("x-case", "allow=seen {host} {path}")])).await.unwrap();
    assert_eq!(bench.reason(0).as_deref(), Some("seen ok.test /p"));

    let denied = bench.run(get(&[("x-case", "deny=no {method} to {host}")])).await;
    let Err(Refusal::Denied(denial)) = denied else {
        panic!("{denied:?}")
    };
    assert_eq!(denial, Denial::new(Role::PreHook, Some("no GET to ok.test".into())));

    assert_eq!(bench.executor.urls().len(), 2, "a denied request reached the executor");
}

#[tokio::test]
async fn a_failure_is_never_a_decision() {
    let bench = Bench::pre(&load("vectors.wasm"), Bodies::Withheld);
    let said = refused(bench.run(get(&[("x-case", "fail=no idea")])).await);
    assert_eq!(said, "hook-failed: no idea");
    let trapped = refused(bench.run(get(&[("x-case", "trap")])).await);
    assert!(trapped.starts_with("hook-failed: trapped: unreachable"), "{trapped}");
    assert!(bench.executor.urls().is_empty());
    bench.run(get(&[("x-case", "allow")])).await.unwrap();
}

#[tokio::test]
async fn the_executor_sees_the_rewrite() {
    let bench = Bench::pre(&load("vectors.wasm"), Bodies::Withheld);
    let case = "url=https://other.test/x; method=put; set:x-new=v {host}; remove:x-old";
    bench.run(get(&[("x-case", case), ("x-old", "1")])).await.unwrap();
    let seen = bench.executor.seen.lock().unwrap()[0].clone();
    assert_eq!((seen.method(), seen.url().as_str()), ("PUT", "https://other.test/x"));
    assert_eq!(seen.headers().get_all("x-new").collect::<Vec<_>>(), ["v ok.test"]);
    assert_eq!(seen.headers().get_all("x-old").count(), 0);
}

#[tokio::test]
async fn a_rewrite_keeps_a_body_it_is_not_given() {
    let bench = Bench::pre(&load("vectors.wasm"), Bodies::Withheld);
    let posted = request(
        "POST",
        "http://ok.test/",
        &[("x-case", "path+=more")],
        Some(b"contents"),
    );
    bench.run(posted).await.unwrap();
    let seen = bench.executor.seen.lock().unwrap()[0].clone();
    assert_eq!(seen.url().as_str(), "http://ok.test/more");
    assert_eq!(seen.body().map(|body| &body[..]), Some(&b"contents"[..]));
}

#[tokio::test]
async fn the_contract_refuses_a_rewrite_that_cannot_be_sent() {
    let bench = Bench::pre(&load("vectors.wasm"), Bodies::Withheld);
    for case in ["url=file:///etc/hosts", "set:host=x", "method=TRACE", "url=http://a b/"] {
        let said = refused(bench.run(get(&[("x-case", case)])).await);
        assert!(said.starts_with("hook-failed: "), "{case}: {said}");
    }
    assert!(bench.executor.urls().is_empty());
}

#[tokio::test]
async fn a_post_hook_judges_the_answer() {
    let executor = Recording::answering([Ok(answer(404, "http://ok.test/p")), Ok(answer(404, "http://ok.test/p"))]);
    let bench = Bench::post(&load("vectors.wasm"), executor);
    let rewritten = bench
        .run(get(&[("x-case-post", "status=201; body=was {status}; set:x-new=1")]))
        .await
        .unwrap();
    assert_eq!((rewritten.status(), &rewritten.body()[..]), (201, &b"was 404"[..]));
    assert_eq!(rewritten.headers().get_all("x-new").collect::<Vec<_>>(), ["1"]);

    let denied = bench.run(get(&[("x-case-post", "deny=hidden {status}")])).await;
    let Err(Refusal::Denied(denial)) = denied else {
        panic!("{denied:?}")
    };
    assert_eq!(denial, Denial::new(Role::PostHook, Some("hidden 404".into())));
    assert_eq!(bench.executor.urls().len(), 2);
}

#[tokio::test]
async fn a_layer_descends_never_once_or_twice() {
    let vectors = load("vectors.wasm");
    let answers = || {
        [
            Ok(answer(201, "http://ok.test/")),
            Ok(answer(202, "http://ok.test/")),
            Ok(answer(203, "http://ok.test/")),
        ]
    };
    for (case, status, descents) in [("once", 201, 1), ("twice", 202, 2), ("never=418", 418, 0)] {
        let bench = Bench::layers(&[&vectors], Recording::answering(answers()));
        let answered = bench.run(get(&[("x-case-layer", case)])).await.unwrap();
        assert_eq!(
            (answered.status(), bench.executor.urls().len()),
            (status, descents),
            "{case}"
        );
    }
}

#[tokio::test]
async fn layers_nest_in_the_order_of_the_stack() {
    let stamp = load("stamp.wasm");
    let bench = Bench::layers(&[&load("pass.wasm"), &stamp], Recording::answering([]));
    let answered = bench.run(get(&[])).await.unwrap();
    let seen = bench.executor.seen.lock().unwrap()[0].clone();
    assert_eq!(
        seen.headers().get_all("x-seam-layer").collect::<Vec<_>>(),
        ["GET ok.test"]
    );
    assert_eq!(
        answered.headers().get_all("x-layer-status").collect::<Vec<_>>(),
        ["200"]
    );
}

#[tokio::test]
async fn a_refusal_from_below_is_handed_on_unchanged() {
    let vectors = load("vectors.wasm");
    let below = || Error::new(ErrorKind::EffectFailed, "name not found").at(Role::Executor, "@execute");
    let bench = Bench::layers(&[&vectors, &vectors], Recording::answering([Err(below().into())]));
    let end = bench.run(get(&[("x-case-layer", "rethrow")])).await;
    let Err(Refusal::Failed(error)) = end else {
        panic!("{end:?}")
    };
    assert_eq!(error.kind(), ErrorKind::EffectFailed);
    assert_eq!(error.place(), Some((Role::Executor, "@execute")));
    assert_eq!(error.message(), "name not found");

    let denial = Denial::new(Role::Policy, Some("not today".into()));
    let bench = Bench::layers(&[&vectors], Recording::answering([Err(denial.clone().into())]));
    let end = bench.run(get(&[("x-case-layer", "rethrow")])).await;
    assert!(matches!(&end, Err(Refusal::Denied(same)) if *same == denial), "{end:?}");
}

#[tokio::test]
async fn a_layer_may_answer_in_place_of_a_refusal() {
    let vectors = load("vectors.wasm");
    let denial = Denial::new(Role::Policy, Some("not today".into()));
    let bench = Bench::layers(&[&vectors], Recording::answering([Err(denial.clone().into())]));
    let caught = bench.run(get(&[("x-case-layer", "catch=503")])).await.unwrap();
    assert_eq!(caught.status(), 503);
    assert_eq!(
        caught.headers().get_all("x-caught").collect::<Vec<_>>(),
        ["denied by policy: not today"]
    );

    let bench = Bench::layers(&[&vectors], Recording::answering([Err(denial.into())]));
    let fallback = get(&[("x-case-layer", "fallback=http://other.test/")]);
    assert_eq!(bench.run(fallback).await.unwrap().status(), 200);
    assert_eq!(bench.executor.urls(), ["http://ok.test/p?q=1", "http://other.test/"]);
}

#[tokio::test]
async fn a_layer_denies_or_fails() {
    let bench = Bench::layers(&[&load("vectors.wasm")], Recording::answering([]));
    let end = bench.run(get(&[("x-case-layer", "deny=no {host}")])).await;
    let Err(Refusal::Denied(denial)) = end else {
        panic!("{end:?}")
    };
    assert_eq!(denial, Denial::new(Role::Layer, Some("no ok.test".into())));
    assert_eq!(
        refused(bench.run(get(&[("x-case-layer", "fail=broken")])).await),
        "hook-failed: broken"
    );
    let trapped = refused(bench.run(get(&[("x-case-layer", "trap")])).await);
    assert!(trapped.starts_with("hook-failed: trapped"), "{trapped}");
    assert!(bench.executor.urls().is_empty());
}

#[tokio::test]
async fn every_call_gets_a_fresh_instance() {
    let bench = Bench::pre(&load("count.wasm"), Bodies::Withheld);
    for _ in 0..20 {
        bench.run(get(&[])).await.unwrap();
        assert_eq!(bench.reason(0).as_deref(), Some("calls=1"));
    }
}
