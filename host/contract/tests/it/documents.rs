//! Documents: what a hook sees, and what a replacement may change.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use seam_contract::{
    Call, Caller, Operation, Output, Verdict,
    document::{self, Bodies},
    fetch::{Request, Response},
    headers::Headers,
    json,
};

fn call(operation: &Operation) -> Call {
    let caller = Caller {
        mcp_headers: BTreeMap::from([("team".into(), "red".into())]),
        claims: Some(json::parse(r#"{"sub":"u","n":18446744073709551617}"#).unwrap()),
        ..Caller::new("e")
    };
    Call::new(Arc::new(caller), operation)
}

fn request() -> Request {
    let headers = Headers::new([("X-A", "1"), ("cookie", "c"), ("x-a", "2")]).unwrap();
    Request::new(
        "post",
        "HTTPS://OK.test:8443/p/../q?x=1#f",
        headers,
        Some(Bytes::from_static(b"\0\xff")),
    )
    .unwrap()
}

fn response() -> Response {
    let headers = Headers::new([("set-cookie", "a=1"), ("x-b", "1"), ("set-cookie", "b=2"), ("x-b", "2")]).unwrap();
    let plain = Response::new(201, "http://ok.test/")
        .unwrap()
        .with_status_text("Created")
        .unwrap();
    plain
        .with_headers(headers)
        .with_body(Bytes::from((0..=255).collect::<Vec<u8>>()))
        .unwrap()
}

#[test]
fn the_input_document() {
    let operation = Operation::Fetch(request());
    let expected = r#"{"operation":"fetch","url":"https://ok.test:8443/q?x=1","method":"POST","headers":{"x-a":"1, 2","cookie":"c"},"url_parsed":{"scheme":"https","host":"ok.test","port":8443,"path":"/q","query":"x=1"},"mcp_headers":{"team":"red"},"claims":{"sub":"u","n":18446744073709551617}}"#;
    assert_eq!(
        json::write(&document::input(&call(&operation), &operation, Bodies::Withheld)),
        expected
    );
    let given = json::write(&document::input(&call(&operation), &operation, Bodies::Given));
    assert!(given.contains(r#""body":"AP8=","bodyEncoding":"base64""#), "{given}");
}

#[test]
fn what_is_absent_is_null() {
    let operation = Operation::Fetch(Request::new("get", "http://ok.test:80", Headers::default(), None).unwrap());
    let call = Call::new(Arc::new(Caller::new("e")), &operation);
    let expected = r#"{"operation":"fetch","url":"http://ok.test/","method":"GET","headers":{},"url_parsed":{"scheme":"http","host":"ok.test","port":null,"path":"/","query":null},"body":null,"bodyEncoding":"base64","mcp_headers":{},"claims":null}"#;
    assert_eq!(
        json::write(&document::input(&call, &operation, Bodies::Given)),
        expected
    );
}

#[test]
fn the_output_document() {
    let shown = json::write(&document::output(&Output::Fetch(
        response().with_body(Bytes::from_static(b"hi")).unwrap(),
    )));
    let expected = r#"{"status":201,"statusText":"Created","url":"http://ok.test/","headers":{"set-cookie":["a=1","b=2"],"x-b":"1, 2"},"body":"aGk=","bodyEncoding":"base64","redirected":false}"#;
    assert_eq!(shown, expected);
}

/// Applies text replacements to the input document and reads the result back as a pre
/// hook's answer: the changed fields, or the failure.
#[track_caller]
fn check_input(bodies: Bodies, edits: &[(&str, &str)], expected: &str) {
    let operation = Operation::Fetch(request());
    let call = call(&operation);
    let mut text = json::write(&document::input(&call, &operation, bodies));
    for (from, to) in edits {
        assert!(text.contains(from), "{from} is not in {text}");
        text = text.replace(from, to);
    }
    let answer = format!(r#"{{"input":{text}}}"#);
    let got = match document::pre_verdict(&call, &operation, bodies, Some(&answer)) {
        Ok(Verdict::Rewrite { to, .. }) => operation.changed_fields(&to).join(" "),
        Ok(other) => panic!("{other:?}"),
        Err(error) => {
            assert_eq!(error.kind(), seam_contract::ErrorKind::HookFailed);
            error.message().to_owned()
        }
    };
    assert_eq!(got, expected, "{edits:?}");
}

#[test]
fn an_identity_hook_changes_nothing() {
    check_input(Bodies::Withheld, &[], "");
    check_input(Bodies::Given, &[], "");
    let operation = Operation::Fetch(request());
    let text = json::write(&document::input(&call(&operation), &operation, Bodies::Given));
    let same = document::read_input(
        &call(&operation),
        &operation,
        Bodies::Given,
        &json::parse(&text).unwrap(),
    )
    .unwrap();
    assert_eq!(
        same, operation,
        "repeated headers and binary bodies come back as they were"
    );
    let output = Output::Fetch(response());
    let text = json::write(&document::output(&output));
    assert_eq!(
        document::read_replaced_output(&output, &json::parse(&text).unwrap()).unwrap(),
        output
    );
}

#[test]
fn rewritable_fields_change() {
    let url = ("https://ok.test:8443/q?x=1", "https://other.test/");
    check_input(Bodies::Withheld, &[url], "url");
    check_input(Bodies::Withheld, &[("POST", "put")], "method");
    check_input(Bodies::Withheld, &[(r#""cookie":"c""#, r#""x-new":"v""#)], "headers");
    check_input(Bodies::Given, &[("AP8=", "eA==")], "body");
    check_input(Bodies::Given, &[(r#""AP8=""#, "null")], "body");
}

#[test]
fn derived_fields_may_be_old_or_recomputed_and_nothing_else() {
    let url = ("https://ok.test:8443/q?x=1", "https://other.test/");
    let old = r#"{"scheme":"https","host":"ok.test","port":8443,"path":"/q","query":"x=1"}"#;
    let new = r#"{"scheme":"https","host":"other.test","port":null,"path":"/","query":null}"#;
    check_input(Bodies::Withheld, &[url, (old, new)], "url");
    let lie = "changed the derived field url_parsed; rewrite what it follows from";
    check_input(
        Bodies::Withheld,
        &[(r#""host":"ok.test""#, r#""host":"bad.test""#)],
        lie,
    );
    check_input(Bodies::Withheld, &[(old, new)], lie);
    check_input(Bodies::Withheld, &[(&format!(r#""url_parsed":{old},"#), "")], "");
}

#[test]
fn pinned_unknown_and_missing_fields_fail_by_name() {
    check_input(
        Bodies::Withheld,
        &[(r#""operation":"fetch""#, r#""operation":"filesystem""#)],
        "changed the pinned field operation",
    );
    check_input(
        Bodies::Withheld,
        &[("red", "blue")],
        "changed the pinned field mcp_headers",
    );
    check_input(
        Bodies::Withheld,
        &[("18446744073709551617", "18446744073709551616")],
        "changed the pinned field claims",
    );
    check_input(
        Bodies::Withheld,
        &[(r#""method""#, r#""metod""#)],
        r#"the input has the unknown field "metod""#,
    );
    check_input(
        Bodies::Withheld,
        &[(r#""claims""#, r#""body":"eA==","claims""#)],
        r#"the input has the unknown field "body""#,
    );
    let missing = "the input lacks the field method; a replacement is whole, not merged";
    check_input(Bodies::Withheld, &[(r#""method":"POST","#, "")], missing);
    check_input(
        Bodies::Given,
        &[(r#""body":"AP8=","#, "")],
        "the input lacks the field body; a replacement is whole, not merged",
    );
}

#[test]
fn values_that_cannot_be_sent_fail() {
    let header = |to| [(r#""cookie":"c""#, to)];
    check_input(
        Bodies::Withheld,
        &header(r#""x":"a\r\nX-Evil: 1""#),
        "the value of the header x contains '\\r', which no header can",
    );
    check_input(
        Bodies::Withheld,
        &header(r#""X-A":"1""#),
        r#"input.headers has two spellings of "x-a""#,
    );
    check_input(
        Bodies::Withheld,
        &header(r#""host":"bad.test""#),
        "the header host belongs to the transport and cannot be set",
    );
    check_input(
        Bodies::Withheld,
        &header(r#""x":1"#),
        "input.headers.x is a number, not a string",
    );
    check_input(
        Bodies::Withheld,
        &[("https://ok.test:8443/q?x=1", "file:///etc/passwd")],
        "the scheme file is not supported, only http and https are",
    );
    check_input(Bodies::Withheld, &[("POST", "GET")], "a GET request cannot have a body");
    check_input(Bodies::Given, &[("AP8=", "AP8")], "input.body is not valid base64");
}

#[track_caller]
fn check_post(edits: &[(&str, &str)], expected: &str) {
    let output = Output::Fetch(response());
    let mut text = json::write(&document::output(&output));
    for (from, to) in edits {
        assert!(text.contains(from), "{from} is not in {text}");
        text = text.replace(from, to);
    }
    let got = match document::post_verdict(&output, Some(&format!(r#"{{"output":{text}}}"#))) {
        Ok(Verdict::Rewrite { to, .. }) => output.changed_fields(&to).join(" "),
        Ok(other) => panic!("{other:?}"),
        Err(error) => error.message().to_owned(),
    };
    assert_eq!(got, expected, "{edits:?}");
}

#[test]
fn a_post_hook_may_change_the_answer_but_not_where_it_came_from() {
    check_post(&[], "");
    check_post(&[("201", "404")], "status");
    check_post(&[("Created", "Else")], "statusText");
    check_post(&[(r#""b=2""#, r#""b=3""#)], "headers");
    check_post(
        &[("http://ok.test/", "http://bad.test/")],
        "changed the pinned field url",
    );
    check_post(&[("false", "true")], "changed the pinned field redirected");
    check_post(&[("base64", "utf8")], "changed the pinned field bodyEncoding");
    check_post(&[("201", "99")], "the status 99 is not from 200 to 599");
    check_post(
        &[("201", "200.5")],
        "output.status is 200.5, not a whole number from 200 to 599",
    );
    check_post(
        &[(r#""status""#, r#""Status""#)],
        r#"the output has the unknown field "Status""#,
    );
    check_post(
        &[(r#""x-b":"1, 2""#, r#""x-b":"a\nb""#)],
        "the value of the header x-b contains '\\n', which no header can",
    );
}

#[test]
fn a_synthetic_answer_is_a_whole_document() {
    let operation = Operation::Fetch(request());
    let read = |text: &str| document::read_output(&operation, &json::parse(text).unwrap());
    let whole = r#"{"status":200,"statusText":"OK","url":"http://rec.test/","headers":{"set-cookie":["a","b"]},"body":"AAE=","bodyEncoding":"base64","redirected":true}"#;
    let Ok(Output::Fetch(answer)) = read(whole) else {
        panic!("{:?}", read(whole))
    };
    assert_eq!(
        (answer.url().as_str(), answer.redirected(), answer.body().as_ref()),
        ("http://rec.test/", true, &b"\0\x01"[..])
    );
    assert_eq!(answer.headers().get_all("set-cookie").collect::<Vec<_>>(), ["a", "b"]);

    let short = r#"{"status":200,"headers":{},"body":"","bodyEncoding":"base64"}"#;
    let Ok(Output::Fetch(answer)) = read(short) else {
        panic!("{:?}", read(short))
    };
    assert_eq!(answer.url(), request().url());

    for (text, expected) in [
        ("null", "the output is null, not an object"),
        (
            r#"{"status":200}"#,
            "the output lacks the field bodyEncoding; a replacement is whole, not merged",
        ),
        (&short.replace("\"\"", "\"x\""), "output.body is not valid base64"),
        (
            &short.replace("base64", "utf8"),
            "output.bodyEncoding is not \"base64\", the only encoding there is",
        ),
        (
            &short.replace("200", "\"200\""),
            "output.status is a string, not a number",
        ),
        (
            &short.replace("{}", r#"{"x":"a\r\nX-Evil: 1"}"#),
            "the value of the header x contains '\\r', which no header can",
        ),
        (&short.replace("{}", "[]"), "output.headers is an array, not an object"),
        (
            &short.replace("\"status\"", "\"extra\":1,\"status\""),
            r#"the output has the unknown field "extra""#,
        ),
    ] {
        assert_eq!(read(text).unwrap_err().message(), expected, "{text}");
    }
}
