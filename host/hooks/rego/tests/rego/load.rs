//! What is refused when a policy is loaded, and in which words.

use std::path::Path;

use seam_contract::{Error, ErrorKind, OperationKind, document::Bodies, verdict::Side};
use seam_hook_rego::{MAX_POLICY, RegoEngine};

use crate::support::{Bench, LIMIT, REGO, engine, get, try_load};

fn load(files: &[(&str, &str)], rule: &str) -> Result<seam_hook_rego::Policy, Error> {
    let files = files
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect();
    REGO.load("p", files, rule, OperationKind::Fetch, Side::Input)
}

#[track_caller]
fn refused(files: &[(&str, &str)], rule: &str, words: &[&str]) {
    let error = load(files, rule).expect_err("was loaded");
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "{word} is not in: {text}");
    }
}

#[test]
fn a_missing_component_is_named() {
    let error = RegoEngine::open(&engine(None), Path::new("/nowhere/rego.wasm")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    let text = error.to_string();
    assert!(
        text.contains("/nowhere/rego.wasm") && text.contains("cargo xtask guests"),
        "{text}"
    );
}

#[test]
fn mistakes_are_named_with_file_and_line() {
    let good = "package t\nallow := true\n";
    refused(
        &[("a.rego", good), ("b.rego", "package t\n\nallow := }\n")],
        "data.t.allow",
        &["b.rego:3"],
    );
    // Rego before version 1: a body without `if`.
    refused(
        &[("old.rego", "package t\nallow {\n  true\n}\n")],
        "data.t.allow",
        &["old.rego:2"],
    );
    refused(&[("a.rego", good)], "data.t.alow", &["data.t.alow", "data.t.allow"]);
    refused(&[], "data.t.allow", &["no .rego files"]);
    let large = format!("package t\n# {}\n", "x".repeat(MAX_POLICY));
    refused(&[("a.rego", &large)], "data.t.allow", &["more than the limit"]);
}

#[tokio::test]
async fn line_ends_and_marks_of_other_systems_are_read() {
    let text = "\u{feff}package t\r\n\r\nallow if {\r\n  input.method == \"GET\"\r\n}\r\n";
    let policy = load(&[("a.rego", text)], "data.t.allow").unwrap();
    assert_eq!(
        Bench::pre(&policy).outcome(get("http://ok.test/")).await,
        "allowed http://ok.test/ -> 200"
    );
}

#[tokio::test]
async fn files_see_each_other() {
    let policy = load(
        &[
            (
                "z.rego",
                "package t\nimport data.hosts\nallow if input.url_parsed.host in hosts.good\n",
            ),
            ("a.rego", "package hosts\ngood := {\"ok.test\"}\n"),
        ],
        "data.t.allow",
    )
    .unwrap();
    let bench = Bench::pre(&policy);
    assert_eq!(
        bench.outcome(get("http://ok.test/")).await,
        "allowed http://ok.test/ -> 200"
    );
    assert_eq!(bench.outcome(get("http://no.test/")).await, "denied -");
}

#[test]
fn a_policy_judges_what_it_was_loaded_for() {
    let policy = try_load("verdict := true", "data.t.verdict", Side::Input).unwrap();
    let error = policy
        .post_hook(LIMIT, Bodies::Withheld)
        .err()
        .expect("has no such side");
    assert!(error.to_string().contains("judge the input, not the output"), "{error}");
}
