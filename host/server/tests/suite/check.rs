//! `seam check` on good configurations.

use crate::support::{Dir, component, finished, seam};

fn good(json: &str) -> String {
    let end = finished(&mut seam(&["check", "--policies-json", json]));
    assert_eq!((end.code, end.err.as_str()), (Some(0), ""), "{json}");
    end.out
}

#[test]
fn a_flat_chain_is_shown_in_its_order() {
    let dir = Dir::new("check-chain");
    let js = dir.file("hooks.js", "function pre() {} async function post() {}");
    let (pre, post) = (
        dir.file("pre.rego", "package mcp.fetch\n\npre := true\n"),
        component("vectors.wasm"),
    );
    let policy = dir
        .file("all/allow.rego", "package mcp.fetch\n\nallow := true\n")
        .replace("/allow.rego", "");
    let json = format!(
        r#"{{"fetch": {{"policies": [{{"url": "{policy}"}}], "pre": [{{"url": "{js}", "body": true}}, {{"url": "{pre}"}}],
            "post": [{{"url": "{js}", "timeout_ms": 70}}, {{"url": "file://{}"}}]}}}}"#,
        post.display()
    );
    let out = good(&json).replace(&dir.path().display().to_string(), "DIR");
    let expected = format!(
        "\
fetch: 6 places, outermost first
   1  hooks.js      pre hook: sees the input with its body; may deny it or change url, method, headers, body
                    JavaScript, function pre, with request bodies, at most 5000 ms: DIR/hooks.js
   2  pre.rego      pre hook: sees the input without its body; may deny it or change url, method, headers
                    Rego, rule data.mcp.fetch.pre, at most 5000 ms: DIR/pre.rego
   3  vectors.wasm  post hook: sees the input without its body and the whole output; may deny the output or change \
status, statusText, headers, body
                    component, a fresh instance each call, at most 5000 ms: {}
   4  hooks.js      post hook: sees the input without its body and the whole output; may deny the output or change \
status, statusText, headers, body
                    JavaScript, function post, at most 70 ms: DIR/hooks.js
   5  @policy       policy: sees the input without its body, as it would be executed; says yes or no; all must say yes
                    Rego, rule data.mcp.fetch.allow, no answer is a no, at most 5000 ms: DIR/all
   6  @execute      executor: sends the request over the network; a redirect comes back as it is

The configuration is good.
",
        post.display()
    );
    assert_eq!(out, expected);
}

#[test]
fn a_policy_that_is_not_placed_goes_just_above_the_innermost_place() {
    let dir = Dir::new("check-stack");
    let policy = dir.file("p.rego", "package mcp.fetch\n\nallow := true\n");
    let js = dir.file("layer.js", "async function handle(input, next) { return next(input) }");
    let network = dir.file("network.js", "function handle() {}");
    let json = format!(
        r#"{{"fetch": {{"policies": [{{"url": "{policy}"}}], "stack": [{{"url": "{js}"}}, {{"url": "file://{}"}},
            {{"url": "file://{}"}}, {{"execute": {{"url": "{network}"}}}}]}}}}"#,
        component("stamp.wasm").display(),
        component("count.wasm").display()
    );
    let out = good(&json);
    let places: Vec<&str> = out
        .lines()
        .filter(|line| line.contains(": sees"))
        .map(|line| line.split(": sees").next().unwrap())
        .collect();
    assert_eq!(
        places,
        [
            "   1  layer.js    layer",
            "   2  stamp.wasm  layer",
            "   3  count.wasm  pre hook",
            "   4  @policy     policy",
            "   5  network.js  executor",
        ]
    );
    assert!(out.contains("JavaScript, function handle, at most 30000 ms"), "{out}");
}

#[test]
fn what_is_probably_not_meant_is_warned_of() {
    let out = good(r#"{"fetch": {}}"#);
    assert!(
        out.contains("warning: fetch: there is no policy, hook or layer, so nothing judges it"),
        "{out}"
    );
    let out = good(r#"{"fetch": {"policies": []}}"#);
    assert!(
        out.contains("warning: fetch.policies: the list is empty, so the policy allows everything"),
        "{out}"
    );
    assert!(good("{}").starts_with("fetch: not configured, it does not exist in scripts\n"));
}

#[test]
fn help_shows_how_each_command_is_used() {
    for arguments in [
        &["--help"][..],
        &["serve", "--help"],
        &["run", "--help"],
        &["check", "--help"],
    ] {
        let end = finished(&mut seam(arguments));
        assert_eq!(end.code, Some(0));
        assert!(
            end.out.contains("Examples:") && end.out.contains("--policies-json"),
            "{}",
            end.out
        );
    }
}
