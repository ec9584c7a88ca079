//! A policy is made once and found again.

use std::fs;

use seam_contract::{OperationKind, verdict::Side};

use crate::support::{Bench, Directory, engine, get, open};

#[tokio::test]
async fn a_policy_is_found_again_and_an_edit_is_seen() {
    let directory = Directory::new("found");
    let load = |text: &str, rule: &str| {
        let rego = open(&engine(Some(directory.0.clone())));
        let files = vec![("t.rego".to_owned(), format!("package t\n{text}"))];
        rego.load("t.rego", files, rule, OperationKind::Fetch, Side::Input)
            .unwrap()
    };
    let kept = || fs::read_dir(&directory.0).unwrap().count();

    let text = "verdict := {\"allow\": false, \"reason\": \"first\"}\nother := true";
    load(text, "data.t.verdict");
    assert_eq!(kept(), 1);
    let found = load(text, "data.t.verdict");
    assert_eq!(kept(), 1, "the same policy was made twice");
    assert_eq!(Bench::pre(&found).outcome(get("http://ok.test/")).await, "denied first");

    let edited = load(&text.replace("first", "second"), "data.t.verdict");
    assert_eq!(
        Bench::pre(&edited).outcome(get("http://ok.test/")).await,
        "denied second"
    );
    let other = load(text, "data.t.other");
    assert_eq!(
        Bench::pre(&other).outcome(get("http://ok.test/")).await,
        "allowed http://ok.test/ -> 200"
    );
    assert_eq!(kept(), 3);
}
