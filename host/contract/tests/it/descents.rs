//! Layers and `next`: zero, one and many descents, late ones, cancelled ones.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::FutureExt;
use seam_contract::{
    Caller, Error, Next, Operation, Output, Refusal, Stack, Verdict,
    fetch::Response,
    record::{Decision, Outcome},
};

use crate::support::{Records, around, around_within, get, pre, run, shown, stack};

/// A descent on a task of its own.
type Running = tokio::task::JoinHandle<Result<Output, Refusal>>;

fn denies_bad() -> Arc<dyn seam_contract::Layer> {
    Arc::new(seam_contract::PreLayer::new(pre("deny-bad", |input| {
        Ok(if input.host() == "bad.test" {
            Verdict::Deny {
                reason: Some("bad".into()),
            }
        } else {
            Verdict::Abstain
        })
    })))
}

#[tokio::test]
async fn a_layer_may_answer_without_the_rest() {
    let (stack, seen) = stack(vec![around("cache", |_, _, _| async {
        Ok(Output::Fetch(Response::new(203, "http://cache.test/")?))
    })]);
    let Ok(Output::Fetch(response)) = run(&stack, "http://ok.test/").await else {
        panic!()
    };
    assert_eq!(response.status(), 203);
    assert!(seen.list().is_empty());
}

#[tokio::test]
async fn every_descent_is_judged_again() {
    let retries = around("retry", |_, operation, next: Next| async move {
        let first = next.run(operation).await;
        assert!(first.is_ok());
        next.run(get("http://bad.test/")).await
    });
    let (stack, seen) = stack(vec![retries, denies_bad()]);
    assert_eq!(
        shown(&run(&stack, "http://ok.test/").await),
        "fetch denied by pre hook (bad): T"
    );
    assert_eq!(seen.list(), ["GET http://ok.test/"]);
}

#[tokio::test]
async fn a_layer_may_catch_a_refusal_and_fall_back() {
    let falls_back = around("fallback", |_, operation, next: Next| async move {
        match next.run(operation).await {
            Err(Refusal::Denied(_)) => next.run(get("http://fallback.test/")).await,
            end => end,
        }
    });
    let (stack, seen) = stack(vec![falls_back, denies_bad()]);
    assert_eq!(shown(&run(&stack, "http://bad.test/").await), "http://fallback.test/");
    assert_eq!(seen.list(), ["GET http://fallback.test/"]);
}

#[tokio::test]
async fn layers_enter_from_the_first_and_leave_from_the_last() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let layer = |name: &'static str| {
        let order = order.clone();
        around(name, move |_, operation, next: Next| {
            let order = order.clone();
            async move {
                order.lock().unwrap().push(format!("+{name}"));
                let end = next.run(operation).await;
                order.lock().unwrap().push(format!("-{name}"));
                end
            }
        })
    };
    let (stack, _) = stack(vec![layer("a"), layer("b")]);
    assert_eq!(format!("{stack:?}"), r#"["a", "b", "@execute"]"#);
    run(&stack, "http://ok.test/").await.unwrap();
    assert_eq!(*order.lock().unwrap(), ["+a", "+b", "-b", "-a"]);
}

#[tokio::test]
async fn next_after_the_layer_has_settled_has_no_effect() {
    let kept: Arc<Mutex<Option<Next>>> = Arc::default();
    let keeps = {
        let kept = kept.clone();
        around("keeps", move |_, operation, next: Next| {
            *kept.lock().unwrap() = Some(next.clone());
            async move { next.run(operation).await }
        })
    };
    let (stack, seen) = stack(vec![keeps]);
    run(&stack, "http://ok.test/1").await.unwrap();
    let late = kept.lock().unwrap().take().unwrap();
    let end = late.run(get("http://ok.test/2")).await;
    assert_eq!(
        shown(&end),
        "fetch cancelled (next was used after its layer had settled): T"
    );
    assert_eq!(seen.list(), ["GET http://ok.test/1"]);
}

#[tokio::test]
async fn a_descent_in_flight_ends_with_its_layer() {
    let spawned: Arc<Mutex<Option<Running>>> = Arc::default();
    let forgets = {
        let spawned = spawned.clone();
        around("forgets", move |_, _, next: Next| {
            *spawned.lock().unwrap() = Some(tokio::spawn(next.run(get("http://ok.test/hang"))));
            async move {
                // Lets the descent come to its executor before this layer settles.
                tokio::task::yield_now().await;
                Ok(Output::Fetch(Response::new(200, "http://ok.test/")?))
            }
        })
    };
    let records = Arc::new(Records::default());
    let caller = Caller {
        recorder: Some(records.clone()),
        ..Caller::new("e")
    };
    let (stack, seen) = stack(vec![forgets]);
    stack.run(Arc::new(caller), get("http://ok.test/")).await.unwrap();
    let descent = spawned.lock().unwrap().take().unwrap();
    let end = descent.await.unwrap();
    assert_eq!(
        shown(&end),
        "fetch cancelled (next was used after its layer had settled): T"
    );
    assert_eq!(seen.list(), ["GET http://ok.test/hang"]);
    let record = records.0.lock().unwrap().pop().unwrap();
    let inner = record.steps.iter().find(|step| step.name == "@execute").unwrap();
    assert_eq!(inner.decision, Decision::Unknown);
}

#[tokio::test(start_paused = true)]
async fn a_layer_is_ended_at_its_limit_with_the_time_in_next() {
    let waits = around_within(Some(Duration::from_millis(30)), "waits", |_, operation, next: Next| {
        next.run(operation)
    });
    let (stack, _) = stack(vec![waits]);
    let begun = tokio::time::Instant::now();
    let end = run(&stack, "http://ok.test/hang").await;
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "it ran for {:?}",
        begun.elapsed()
    );
    assert_eq!(
        shown(&end),
        "fetch stopped, layer waits failed (timed out after 30 ms): T"
    );
}

#[tokio::test]
async fn a_denial_keeps_its_author_on_the_way_up() {
    let passes = || around("passes", |_, operation, next: Next| next.run(operation));
    let (stack, _) = stack(vec![passes(), passes(), denies_bad()]);
    assert_eq!(
        shown(&run(&stack, "http://bad.test/").await),
        "fetch denied by pre hook (bad): T"
    );
}

#[tokio::test]
async fn a_layer_denies_or_fails_under_its_own_name() {
    let denies = around("d", |cx, _, _| async move { Err(cx.deny(Some("mine".into()))) });
    let (denying, _) = stack(vec![denies]);
    assert_eq!(
        shown(&run(&denying, "http://ok.test/").await),
        "fetch denied by layer (mine): T"
    );
    let fails = around("f.js", |cx, _, _| async move { Err(cx.fail(Error::hook("threw"))) });
    let (failing, _) = stack(vec![fails]);
    assert_eq!(
        shown(&run(&failing, "http://ok.test/").await),
        "fetch stopped, layer f.js failed (threw): T"
    );
}

#[tokio::test]
async fn the_effects_own_failure_is_neither_a_denial_nor_a_hooks() {
    let (stack, _) = stack(vec![]);
    assert_eq!(
        shown(&run(&stack, "http://ok.test/fail").await),
        "fetch failed (connection reset): T"
    );
}

#[tokio::test]
async fn a_call_that_is_given_up_is_reported() {
    let records = Arc::new(Records::default());
    let caller = Arc::new(Caller {
        recorder: Some(records.clone()),
        ..Caller::new("e")
    });
    let (stack, _) = stack(Stack::chain(vec![], vec![], vec![]));
    let running = stack.run(caller, get("http://ok.test/hang"));
    assert!(running.now_or_never().is_none());
    let record = records.0.lock().unwrap().pop().unwrap();
    assert_eq!(record.outcome, Outcome::Cancelled);
    assert_eq!(record.steps[0].decision, Decision::Unknown);
}

#[tokio::test]
async fn a_layer_that_retries_for_ever_does_not_grow_its_record() {
    let insists = around("insists", |_, _, next: Next| async move {
        for _ in 0..1000 {
            let _: Result<Output, Refusal> = next.run(get("http://ok.test/")).await;
        }
        next.run(get("http://ok.test/last")).await
    });
    let records = Arc::new(Records::default());
    let caller = Arc::new(Caller {
        recorder: Some(records.clone()),
        ..Caller::new("e")
    });
    let (stack, seen) = stack(vec![insists]);
    stack.run(caller, get("http://ok.test/")).await.unwrap();
    assert_eq!(seen.list().len(), 1001);
    assert_eq!(
        records.0.lock().unwrap()[0].steps.len(),
        seam_contract::record::MAX_STEPS
    );
}

#[test]
fn the_depth_of_a_stack_is_bounded() {
    let layers = |n| {
        (0..n)
            .map(|_| around("x", |_, operation: Operation, next: Next| next.run(operation)))
            .collect()
    };
    let executor = || Arc::new(crate::support::Recording(Default::default()));
    assert!(Stack::new(seam_contract::OperationKind::Fetch, layers(32), executor()).is_ok());
    assert!(Stack::new(seam_contract::OperationKind::Fetch, layers(33), executor()).is_err());
}
