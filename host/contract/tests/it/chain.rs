//! The flat chain: order, denials, failures, gates.

use std::sync::{Arc, Mutex};

use seam_contract::{
    Caller, Error, Gate, Operation, PreHook, PreLayer, Stack, Verdict,
    record::{Decision, Outcome},
};

use crate::support::{Records, appends, get, marks, post, pre, run, shown, stack};

#[tokio::test]
async fn pre_hooks_run_in_order_and_each_sees_the_one_before() {
    let (stack, seen) = stack(Stack::chain(vec![appends("a", "a"), appends("b", "b")], vec![], vec![]));
    assert_eq!(shown(&run(&stack, "http://ok.test/").await), "http://ok.test/ab");
    assert_eq!(seen.list(), ["GET http://ok.test/ab"]);
}

#[tokio::test]
async fn post_hooks_run_in_order_and_each_sees_the_one_before() {
    let (stack, _) = stack(Stack::chain(vec![], vec![marks("a", "+a"), marks("b", "+b")], vec![]));
    assert_eq!(shown(&run(&stack, "http://ok.test/").await), "http://ok.test/+a+b");
}

#[tokio::test]
async fn a_post_hook_sees_the_effective_input() {
    let inputs = Arc::new(Mutex::new(Vec::new()));
    let kept = inputs.clone();
    let observer = post("observer", move |input, _| {
        kept.lock().unwrap().push(input.url().to_string());
        Ok(Verdict::Abstain)
    });
    let (stack, _) = stack(Stack::chain(vec![appends("a", "a")], vec![observer], vec![]));
    run(&stack, "http://ok.test/").await.unwrap();
    assert_eq!(*inputs.lock().unwrap(), ["http://ok.test/a"]);
}

#[tokio::test]
async fn the_first_denial_ends_the_chain() {
    let denies = pre("a", |_| {
        Ok(Verdict::Deny {
            reason: Some("no".into()),
        })
    });
    let unreached = pre("b", |_| Err(Error::hook("was asked")));
    let (stack, seen) = stack(Stack::chain(vec![denies, unreached], vec![], vec![]));
    assert_eq!(
        shown(&run(&stack, "http://ok.test/").await),
        "fetch denied by pre hook (no): T"
    );
    assert!(seen.list().is_empty());
}

#[tokio::test]
async fn a_post_denial_hides_the_answer_and_the_effect_stands() {
    let denies = post("a", |_, _| {
        Ok(Verdict::Deny {
            reason: Some("secret".into()),
        })
    });
    let (stack, seen) = stack(Stack::chain(vec![], vec![denies], vec![]));
    assert_eq!(
        shown(&run(&stack, "http://ok.test/").await),
        "fetch denied by post hook (secret): T"
    );
    assert_eq!(seen.list().len(), 1);
}

#[tokio::test]
async fn no_verdict_is_a_failure_and_no_effect() {
    let fails = pre("a.js", |_| Err(Error::hook("threw")));
    let (stack, seen) = stack(Stack::chain(vec![fails], vec![], vec![]));
    assert_eq!(
        shown(&run(&stack, "http://ok.test/").await),
        "fetch stopped, pre hook a.js failed (threw): T"
    );
    assert!(seen.list().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_hangs_is_a_failure_after_its_limit() {
    struct Hangs;
    impl PreHook for Hangs {
        fn name(&self) -> &str {
            "hangs"
        }
        fn limit(&self) -> Option<std::time::Duration> {
            Some(std::time::Duration::from_millis(70))
        }
        fn judge<'a>(
            &'a self,
            _: &'a seam_contract::Cx,
            _: &'a Operation,
        ) -> futures::future::BoxFuture<'a, Result<Verdict<Operation>, Error>> {
            Box::pin(std::future::pending())
        }
    }
    let (stack, seen) = stack(vec![Arc::new(PreLayer::new(Arc::new(Hangs)))]);
    assert_eq!(
        shown(&run(&stack, "http://ok.test/").await),
        "fetch stopped, pre hook hangs failed (timed out after 70 ms): T"
    );
    assert!(seen.list().is_empty());
}

#[tokio::test]
async fn a_panic_in_a_hook_is_a_failure() {
    let panics = pre("a", |_| panic!("on purpose"));
    let (stack, seen) = stack(Stack::chain(vec![panics], vec![], vec![]));
    let end = shown(&run(&stack, "http://ok.test/").await);
    assert!(end.starts_with("fetch stopped, pre hook a failed (panicked"), "{end}");
    assert!(seen.list().is_empty());
}

#[tokio::test]
async fn a_gate_must_speak() {
    let gate = Arc::new(Gate(pre("gate", |input| {
        Ok(if input.host() == "ok.test" {
            Verdict::Allow { reason: None }
        } else {
            Verdict::Abstain
        })
    })));
    let (stack, seen) = stack(Stack::chain(vec![gate], vec![], vec![]));
    assert!(run(&stack, "http://ok.test/").await.is_ok());
    assert_eq!(
        shown(&run(&stack, "http://bad.test/").await),
        "fetch denied by pre hook: T"
    );
    assert_eq!(seen.list().len(), 1);
}

#[tokio::test]
async fn the_record_names_each_place_and_what_it_changed() {
    let records = Arc::new(Records::default());
    let caller = Caller {
        recorder: Some(records.clone()),
        ..Caller::new("exec-1")
    };
    let allows = pre("allows", |_| {
        Ok(Verdict::Allow {
            reason: Some("fine".into()),
        })
    });
    let same = pre("same", |input| {
        Ok(Verdict::Rewrite {
            to: Operation::Fetch(input.clone()),
            reason: None,
        })
    });
    let silent = pre("silent", |_| Ok(Verdict::Abstain));
    let chain = Stack::chain(
        vec![allows, same, silent, appends("a", "a?token=KEY")],
        vec![marks("m", "!")],
        vec![],
    );
    let (stack, _) = stack(chain);
    stack
        .run(Arc::new(caller), get("http://ok.test/?token=KEY"))
        .await
        .unwrap();

    let records = records.0.lock().unwrap();
    let [record] = records.as_slice() else {
        panic!("{records:?}")
    };
    assert_eq!(
        (record.execution.as_str(), record.outcome),
        ("exec-1", Outcome::Answered)
    );
    assert_eq!(record.target, "http://ok.test/");
    let steps: Vec<_> = record
        .steps
        .iter()
        .map(|step| (step.name.as_str(), step.decision, step.rewrote.clone()))
        .collect();
    assert_eq!(
        steps,
        [
            ("allows", Decision::Allowed, vec![]),
            ("same", Decision::Allowed, vec![]),
            ("silent", Decision::Abstained, vec![]),
            ("a", Decision::Rewrote, vec!["url"]),
            ("m", Decision::Rewrote, vec!["body"]),
            ("@execute", Decision::Answered, vec![]),
        ]
    );
    assert_eq!(record.steps[0].reason.as_deref(), Some("fine"));
    assert!(!format!("{record:?}").contains("KEY"), "{record:?}");
}
