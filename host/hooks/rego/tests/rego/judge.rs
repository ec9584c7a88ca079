//! Verdicts of rules, as a stack takes them.
//!
//! Making a policy takes seconds, so one policy stands for many cases: it looks at the host
//! it is asked about.

use std::time::Duration;

use seam_contract::verdict::Side;

use crate::support::{Bench, get, try_load};

/// One host a verdict.
const VERDICTS: &str = r#"
host := input.url_parsed.host

verdict := true if host == "yes.test"
verdict := false if host == "no.test"
verdict := {"allow": false, "reason": sprintf("no %s to %s", [input.method, host])} if host == "reason.test"
verdict := {"allow": true, "reason": "seen"} if host == "seen.test"
verdict := {"input": object.union(rewritable, {"url": "https://other.test/"})} if host == "rewrite.test"
verdict := {"input": {"url": "https://other.test/"}} if host == "partial.test"
verdict := {"input": object.union(rewritable, {"operation": "exec"})} if host == "pinned.test"
verdict := {"input": object.union(object.remove(rewritable, ["mcp_headers"]), {"mcp_headers": {}})} if host == "headers.test"
verdict := {} if host == "empty.test"
verdict := "yes" if host == "text.test"
verdict := {"allow": "yes"} if host == "type.test"
verdict := {"output": {}} if host == "output.test"
verdict := true if host == "conflict.test"
verdict := false if startswith(host, "conflict")
verdict := to_number(host) > 1 if host == "builtin.test"
verdict := count([1 | some x in numbers.range(1, 100000); some y in numbers.range(1, 100000); x + y < 0]) == 0 if host == "loop.test"
verdict := {"allow": false, "reason": input.mcp_headers.tenant} if host == "tenant.test"

rewritable := object.remove(input, ["url_parsed"])
"#;

#[tokio::test]
async fn every_verdict_of_the_contract() {
    let policy = try_load(VERDICTS, "data.t.verdict", Side::Input).unwrap();
    let bench = Bench::pre(&policy);
    for (host, expected) in [
        ("other.test", "allowed http://other.test/ -> 200"),
        ("yes.test", "allowed http://yes.test/ -> 200"),
        ("no.test", "denied -"),
        ("reason.test", "denied no GET to reason.test"),
        ("seen.test", "allowed http://seen.test/ -> 200"),
        ("rewrite.test", "allowed https://other.test/ -> 200"),
        ("tenant.test", "denied blue"),
    ] {
        assert_eq!(bench.outcome(get(&format!("http://{host}/"))).await, expected, "{host}");
    }
    let sent = bench.sent();
    for (host, named) in [
        ("partial.test", "method"),
        ("pinned.test", "operation"),
        ("headers.test", "mcp_headers"),
        ("empty.test", "empty object"),
        ("text.test", "a string"),
        ("type.test", "boolean"),
        ("output.test", "output"),
        ("conflict.test", "data.t.verdict"),
        ("builtin.test", "t.rego:"),
    ] {
        let outcome = bench.outcome(get(&format!("http://{host}/"))).await;
        assert!(
            outcome.starts_with("hook-failed ") && outcome.contains(named),
            "{host}: {outcome}"
        );
    }
    assert_eq!(bench.sent(), sent, "a failed judgement sent a request");

    let short = Bench::pre_within(&policy, Duration::from_millis(1000));
    assert_eq!(
        short.outcome(get("http://loop.test/")).await,
        "hook-failed timed out after 1000 ms"
    );
    let after = short.outcome(get("http://yes.test/")).await;
    assert_eq!(after, "allowed http://yes.test/ -> 200");
}

#[tokio::test]
async fn a_gate_denies_what_it_does_not_allow() {
    let text = r#"
        allow if input.url_parsed.host == "yes.test"
        allow := false if input.url_parsed.host == "no.test"
    "#;
    let policy = try_load(text, "data.t.allow", Side::Input).unwrap();
    assert!(policy.is_gate());
    let bench = Bench::pre(&policy);
    assert_eq!(
        bench.outcome(get("http://yes.test/")).await,
        "allowed http://yes.test/ -> 200"
    );
    assert_eq!(bench.outcome(get("http://no.test/")).await, "denied -");
    assert_eq!(bench.outcome(get("http://other.test/")).await, "denied -");
    assert_eq!(bench.sent(), 1);
}

#[tokio::test]
async fn a_post_hook_sees_both_documents() {
    let text = r#"
        host := input.input.url_parsed.host
        post := {"allow": false, "reason": sprintf("%s gave %d", [host, input.output.status])} if host == "no.test"
        post := {"output": object.union(input.output, {"status": 299})} if host == "rewrite.test"
    "#;
    let bench = Bench::post(&try_load(text, "data.t.post", Side::Output).unwrap());
    assert_eq!(bench.outcome(get("http://no.test/")).await, "denied no.test gave 200");
    assert_eq!(
        bench.outcome(get("http://rewrite.test/")).await,
        "allowed http://rewrite.test/ -> 299"
    );
    assert_eq!(
        bench.outcome(get("http://yes.test/")).await,
        "allowed http://yes.test/ -> 200"
    );
}

#[tokio::test]
async fn a_post_gate_denies_what_it_does_not_allow() {
    let text = r#"allow if input.input.url_parsed.host == "yes.test""#;
    let bench = Bench::post(&try_load(text, "data.t.allow", Side::Output).unwrap());
    assert_eq!(
        bench.outcome(get("http://yes.test/")).await,
        "allowed http://yes.test/ -> 200"
    );
    assert_eq!(bench.outcome(get("http://other.test/")).await, "denied -");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_sees_another() {
    let text = r#"verdict := {"allow": false, "reason": input.url_parsed.path}"#;
    let policy = try_load(text, "data.t.verdict", Side::Input).unwrap();
    let bench = std::sync::Arc::new(Bench::pre(&policy));
    let calls: Vec<_> = (0..200)
        .map(|call| {
            let bench = bench.clone();
            tokio::spawn(async move {
                let outcome = bench.outcome(get(&format!("http://ok.test/{call}"))).await;
                assert_eq!(outcome, format!("denied /{call}"));
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
}
