//! What a policy may be and what it answers, compiled for this machine.

use super::*;

const RULE: &str = "data.mcp.fetch.pre";

/// Loads one file and judges one document; each test has a thread and so a policy of its own.
fn loaded(text: &str) -> Result<(), String> {
    load(
        vec![("p.rego".into(), text.into())],
        RULE.into(),
        r#"{"url":"https://a.test/"}"#,
    )
    .map_err(String::from)
}

fn verdict(policy: &str, input: &str) -> Result<Option<String>, String> {
    loaded(&format!("package mcp.fetch\n{policy}")).unwrap();
    judge(input).map_err(String::from)
}

fn refused(policy: &str, input: &str) -> String {
    verdict(policy, input).unwrap_err()
}

#[test]
fn an_undefined_rule_abstains_and_a_defined_one_answers() {
    let policy = "pre := {\"allow\": false, \"reason\": input.url} if startswith(input.url, \"http:\")\n\
                  pre := {\"input\": object.union(input, {\"url\": \"https://b.test/\"})} if input.url == \"swap\"";
    assert_eq!(verdict(policy, r#"{"url":"https://a"}"#).unwrap(), None);
    assert_eq!(
        judge(r#"{"url":"http://a"}"#).unwrap().as_deref(),
        Some(r#"{"allow":false,"reason":"http://a"}"#)
    );
    let rewritten = judge(r#"{"url":"swap","id":18446744073709551617}"#).unwrap();
    assert_eq!(
        rewritten.as_deref(),
        Some(r#"{"input":{"id":18446744073709551617,"url":"https://b.test/"}}"#)
    );
    assert_eq!(
        judge(r#"{"url":"https://a"}"#).unwrap(),
        None,
        "nothing of the last call is left"
    );
}

#[test]
fn an_erring_builtin_fails_and_denies_nothing_silently() {
    for body in [
        "to_number(input.n) > 5",
        "json.unmarshal(input.n)",
        "regex.match(\"(\", input.n)",
        "base64.decode(input.n)",
        "1 / input.zero > 0",
        "startswith(input.zero, \"a\")",
        "not startswith(input.zero, \"a\")",
        "helper(input.n)",
        "[1 | to_number(input.n)] == []",
    ] {
        let policy = format!("pre := {{\"allow\": false}} if {body}\nhelper(x) if to_number(x) > 1\n");
        let body = body.to_owned();
        std::thread::spawn(move || {
            let error = refused(&policy, r#"{"n":"!secret!","zero":0}"#);
            assert!(error.starts_with("data.mcp.fetch.pre: p.rego:"), "{body}: {error}");
            assert!(!error.contains("secret") && !error.contains('\n'), "{body}: {error}");
        })
        .join()
        .unwrap();
    }
}

#[test]
fn rules_that_disagree_fail_with_their_place() {
    let policy = "pre := {\"allow\": false} if input.a\npre := {\"allow\": true} if input.b";
    let error = refused(policy, r#"{"a":true,"b":true}"#);
    assert!(error.starts_with("data.mcp.fetch.pre: p.rego:"), "{error}");
    assert!(error.contains("rule conflicts with rule at p.rego:"), "{error}");
    assert_eq!(judge(r#"{"a":true}"#).unwrap().as_deref(), Some(r#"{"allow":false}"#));
}

#[test]
fn rules_that_agree_are_fine() {
    let policy = "pre := {\"allow\": false} if input.a\npre := {\"allow\": false} if input.b";
    assert_eq!(
        verdict(policy, r#"{"a":true,"b":true}"#).unwrap().as_deref(),
        Some(r#"{"allow":false}"#)
    );
}

#[test]
fn values_of_different_types_have_an_order() {
    let policy = "pre := \"low\" if input.port < 1024";
    assert_eq!(verdict(policy, r#"{"port":null}"#).unwrap().as_deref(), Some("\"low\""));
}

#[test]
fn whole_numbers_are_exact_in_the_policy_too() {
    let policy = "pre := {\"same\": input.id == 18446744073709551617, \"next\": input.id + 1, \"text\": sprintf(\"%d\", [input.id]), \
                  \"parsed\": json.unmarshal(\"[18446744073709551617]\")}";
    assert_eq!(
        verdict(policy, r#"{"id":18446744073709551617}"#).unwrap().as_deref(),
        Some(
            r#"{"next":18446744073709551618,"parsed":[18446744073709551617],"same":true,"text":"18446744073709551617"}"#
        )
    );
}

#[test]
fn a_file_that_does_not_parse_is_named_with_its_line() {
    let error = loaded("package mcp.fetch\n\npre := {\n").unwrap_err();
    assert!(
        error.starts_with("p.rego:4:") || error.starts_with("p.rego:3:"),
        "{error}"
    );
    assert!(!error.contains('\n'), "{error}");
}

#[test]
fn rego_v0_is_refused() {
    assert!(
        loaded("package mcp.fetch\npre { input.x }")
            .unwrap_err()
            .starts_with("p.rego:2:")
    );
}

/// Loading fails with this message, from a thread and so for a component of its own.
fn does_not_load(policy: &str, expected: &str) {
    let text = format!("package mcp.fetch\n{policy}");
    let loaded = std::thread::spawn(move || loaded(&text)).join().unwrap();
    assert_eq!(loaded, Err(expected.to_owned()), "{policy}");
}

#[test]
fn a_variable_that_nobody_binds_is_found_at_load() {
    does_not_load("pre := x if true", "p.rego:2:8: nothing binds x");
    does_not_load("pre contains x if input.y", "p.rego:2:14: nothing binds x");
    does_not_load("pre[x] := 1 if input.y", "p.rego:2:5: nothing binds x");
    does_not_load("pre := {\"reason\": lib.x}", "p.rego:2:19: nothing binds lib");
    does_not_load("pre := f(1)\nf(a) := b if a", "p.rego:3:9: nothing binds b");
    does_not_load("pre := 1 if false\nelse := x", "p.rego:3:9: nothing binds x");
    does_not_load("pre if r == 1", "p.rego:2:8: use of undefined variable `r` is unsafe");
}

#[test]
fn a_function_that_is_not_there_is_found_at_load() {
    does_not_load("pre := http.send({})", "p.rego:2:17: there is no function http.send");
    does_not_load(
        "pre if time.now_ns() > 1",
        "p.rego:2:19: there is no function time.now_ns",
    );
    does_not_load(
        "pre if not nonsense(input)",
        "p.rego:2:20: there is no function nonsense",
    );
    does_not_load(
        "import data.lib as l\npre := [x | x := l.f(1)]",
        "p.rego:3:21: there is no function l.f",
    );
    does_not_load(
        "pre if every x in input { g(x) }",
        "p.rego:2:28: there is no function g",
    );
}

#[test]
fn a_function_that_calls_itself_is_found_at_load() {
    does_not_load(
        "pre := f(1)\nf(x) := f(x + 1)",
        "p.rego:3:1: the function data.mcp.fetch.f calls itself",
    );
    does_not_load(
        "pre := f(1)\nf(x) := g(x)\ng(x) := [1 | f(x)]",
        "p.rego:3:1: the function data.mcp.fetch.f calls itself",
    );
}

#[test]
fn chance_is_refused() {
    does_not_load(
        "pre := rand.intn(\"a\", 5)",
        "p.rego:2:17: rand.intn is refused: a hook has no randomness",
    );
}

#[test]
fn every_way_to_bind_and_to_call_is_known() {
    let files = vec![
        ("lib.rego".into(), "package lib\nf(x) := y if y := x\ndefault g(_) := 3".into()),
        (
            "p.rego".into(),
            "package mcp.fetch\nimport data.lib\nimport data.lib.f as h\nimport input.url\n\
             local(a, [b, c]) := {\"v\": a, \"w\": [b, c]}\n\
             names contains n if some n, _ in input\n\
             by_key[k] := v if some k, v in input\n\
             deep.rule.here := 1\n\
             pre := {\"a\": lib.f(1), \"b\": data.lib.g(2), \"c\": h(4), \"d\": local(1, [2, 3]), \"e\": url, \"f\": names, \
             \"g\": by_key, \"h\": deep.rule.here, \"i\": [z | some z in [1, 2]], \"j\": {p: q | some p, q in {\"k\": 1}}, \
             \"k\": data.mcp.fetch.local(1, [2, 3]).v, \"l\": w, \"m\": m} if {\n\
               w = 1\n  some m in [1]\n  every u in [1] { u == 1 }\n  print(w)\n}"
                .into(),
        ),
    ];
    load(files, RULE.into(), "{}").unwrap();
    assert_eq!(
        judge(r#"{"url":"u"}"#).unwrap().as_deref(),
        Some(concat!(
            r#"{"a":1,"b":3,"c":4,"d":{"v":1,"w":[2,3]},"e":"u","f":["url"],"g":{"url":"u"},"h":1,"#,
            r#""i":[1,2],"j":{"k":1},"k":1,"l":1,"m":1}"#
        ))
    );
}

#[test]
fn a_missing_rule_lists_those_that_are_there() {
    let error = loaded("package mcp.fetch\npost := true\nallow if input.x\nhelper(x) := x").unwrap_err();
    assert_eq!(
        error,
        "rule data.mcp.fetch.pre is not defined; defined there: data.mcp.fetch.allow, data.mcp.fetch.post"
    );
    let error = loaded("package other\npre := true").unwrap_err();
    assert_eq!(
        error,
        "rule data.mcp.fetch.pre is not defined; packages found: data.other"
    );
}

#[test]
fn a_second_policy_is_refused() {
    loaded("package mcp.fetch\npre := true").unwrap();
    assert!(
        loaded("package mcp.fetch\npre := false")
            .unwrap_err()
            .contains("already loaded")
    );
    assert_eq!(judge("{}").unwrap().as_deref(), Some("true"));
}

#[test]
fn without_a_policy_nothing_is_judged() {
    assert!(String::from(judge("{}").unwrap_err()).contains("no policy is loaded"));
}

#[test]
fn an_error_on_the_warm_up_document_stops_nobody() {
    loaded("package mcp.fetch\npre := json.unmarshal(input.url)").unwrap();
    assert_eq!(judge(r#"{"url":"true"}"#).unwrap().as_deref(), Some("true"));
}

#[test]
fn several_files_make_one_policy() {
    let files = vec![
        (
            "a.rego".into(),
            "package mcp.fetch\nimport data.lib\npre := lib.answer".into(),
        ),
        ("b.rego".into(), "package lib\nanswer := {\"allow\": false}".into()),
    ];
    load(files, RULE.into(), "{}").unwrap();
    assert_eq!(judge("{}").unwrap().as_deref(), Some(r#"{"allow":false}"#));
}

#[test]
fn rules_that_call_each_other_in_a_circle_fail() {
    let error = match loaded("package mcp.fetch\npre if a\na if b\nb if a") {
        Err(error) => error,
        Ok(()) => judge("{}").unwrap_err().into(),
    };
    assert!(error.contains("recurs"), "{error}");
}

#[test]
fn deep_sources_are_an_error() {
    let nested = format!("package mcp.fetch\npre := {}1{}", "(".repeat(3000), ")".repeat(3000));
    assert!(loaded(&nested).unwrap_err().starts_with("p.rego:2:"));
}
