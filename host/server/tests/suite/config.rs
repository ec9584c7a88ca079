//! Mistakes of configuration: each input and the exact words that answer it.

use std::{fs, os::unix::fs::PermissionsExt as _};

use crate::support::{Dir, component, finished, log, seam};

const SOURCE_KEYS: &str = "accepted are url, rule, timeout_ms (milliseconds), body";

/// The mistakes that `check` finds, with the program's own directory written as `DIR`.
fn mistakes(dir: &Dir, json: &str) -> Vec<String> {
    let json = json.replace("DIR", &dir.path().display().to_string());
    let end = finished(&mut seam(&["check", "--policies-json", &json]));
    assert_eq!(end.code, Some(1), "{json}: {end:?}");
    assert_eq!(end.out, "", "{json}");
    let lines = log(&end.err);
    let head = format!(
        "the configuration has {} mistake{}",
        lines.len() - 1,
        if lines.len() == 2 { "" } else { "s" }
    );
    assert_eq!(lines[0], head, "{}", end.err);
    lines[1..]
        .iter()
        .map(|line| line.replace(&dir.path().display().to_string(), "DIR"))
        .collect()
}

#[track_caller]
fn check(dir: &Dir, json: &str, expected: &[&str]) {
    let expected: Vec<String> = expected.iter().map(|line| format!("--policies-json: {line}")).collect();
    assert_eq!(mistakes(dir, json), expected, "{json}");
}

#[test]
fn unknown_keys_are_told_with_their_path_and_what_is_accepted() {
    let dir = Dir::new("keys");
    dir.file("a.js", "function pre() {}");
    check(
        &dir,
        r#"{"fetsh": {}}"#,
        &["fetsh: unknown key, did you mean fetch?; accepted are fetch"],
    );
    check(
        &dir,
        r#"{"fetch": {"polices": []}}"#,
        &["fetch.polices: unknown key, did you mean policies?; accepted are policies, mode, pre, post, stack"],
    );
    check(
        &dir,
        r#"{"fetch": {"pre": [{"url": "file://DIR/a.js", "timeout": 5}]}}"#,
        &[&format!(
            "fetch.pre[0].timeout: unknown key, did you mean timeout_ms?; {SOURCE_KEYS}"
        )],
    );
    check(
        &dir,
        r#"{"fetch": {"pre": [{"url": "file://DIR/a.js", "\u0000 x": 5}]}}"#,
        &[&format!("fetch.pre[0][\"\\0 x\"]: unknown key; {SOURCE_KEYS}")],
    );
    check(
        &dir,
        r#"{"fetch": {"stack": [{"execute": {"url": "file://DIR/a.js", "rule": "pre"}, "url": "x"}]}}"#,
        &["fetch.stack[0].url: unknown key; accepted are execute"],
    );
}

#[test]
fn what_this_version_has_not_is_refused_and_not_ignored() {
    let dir = Dir::new("later");
    dir.file("a.js", "function pre() {}");
    check(
        &dir,
        r#"{"filesystem": {}}"#,
        &["filesystem: this version has no filesystem yet; accepted are fetch"],
    );
    check(
        &dir,
        r#"{"fetch": {"network": {}}}"#,
        &["fetch.network: this version has no network yet; accepted are policies, mode, pre, post, stack"],
    );
    for key in ["capabilities", "policy_path", "wasi", "instances", "credentials"] {
        check(
            &dir,
            &format!(r#"{{"fetch": {{"pre": [{{"url": "file://DIR/a.js", "{key}": []}}]}}}}"#),
            &[&format!(
                "fetch.pre[0].{key}: this version has no {key} yet; {SOURCE_KEYS}"
            )],
        );
    }
    check(
        &dir,
        r#"{"fetch": {"stack": ["@inject", "@execute"]}}"#,
        &[
            "fetch.stack[0]: this version has no @inject yet; accepted are a source, \"@policy\", \"@execute\" or \
         {\"execute\": {source}}",
        ],
    );
    check(
        &dir,
        r#"{"fetch": {"pre": [{"url": "http://127.0.0.1:8181"}]}}"#,
        &[
            "fetch.pre[0].url: this version has no REST sources (http, https) yet; accepted are file:// URLs of a .js file, a \
         .wasm component, a .rego file or a directory of .rego files, such as file:///etc/policies/fetch.rego",
        ],
    );
}

#[test]
fn limits_have_a_unit_and_a_range() {
    let dir = Dir::new("limits");
    dir.file("a.js", "function pre() {}");
    for (value, shown) in [
        (r#""500""#, r#"the string "500""#),
        ("0", "0"),
        ("-1", "-1"),
        ("1.5", "1.5"),
        ("1e15", "1e15"),
        ("600001", "600001"),
        ("99999999999999999999999999", "99999999999999999999999999"),
        ("null", "null"),
        ("true", "true"),
        ("[]", "an array"),
    ] {
        check(
            &dir,
            &format!(r#"{{"fetch": {{"pre": [{{"url": "file://DIR/a.js", "timeout_ms": {value}}}]}}}}"#),
            &[&format!(
                "fetch.pre[0].timeout_ms: is {shown}, expected a whole number of milliseconds from 1 to 600000"
            )],
        );
    }
}

#[test]
fn values_of_another_form_are_told_with_what_is_expected() {
    let dir = Dir::new("forms");
    dir.file("a.js", "function pre() {}");
    dir.file("a.wasm", "");
    check(&dir, "[]", &["is an array, expected an object with the keys fetch"]);
    check(
        &dir,
        r#"{"fetch": null}"#,
        &["fetch: is null, expected an object with the keys policies, mode, pre, post, stack"],
    );
    check(
        &dir,
        r#"{"fetch": {"pre": {"url": "x"}}}"#,
        &["fetch.pre: is an object, expected a list of sources"],
    );
    check(
        &dir,
        r#"{"fetch": {"pre": ["file:///a.js"]}}"#,
        &[
            "fetch.pre[0]: is the string \"file:///a.js\", expected an object with the keys url, rule, timeout_ms (milliseconds), body",
        ],
    );
    check(
        &dir,
        r#"{"fetch": {"pre": [{"rule": "pre"}]}}"#,
        &["fetch.pre[0]: lacks the key url, which says where the hook is"],
    );
    check(
        &dir,
        r#"{"fetch": {"pre": [{"url": 1}]}}"#,
        &["fetch.pre[0].url: is 1, expected the URL of a source"],
    );
    check(
        &dir,
        r#"{"fetch": {"pre": [{"url": "file://DIR/a.js", "body": "yes"}]}}"#,
        &["fetch.pre[0].body: is the string \"yes\", expected true or false"],
    );
    check(
        &dir,
        r#"{"fetch": {"policies": [], "mode": "al"}}"#,
        &["fetch.mode: is the string \"al\", did you mean all?; accepted are all, any"],
    );
    check(
        &dir,
        r#"{"fetch": {"pre": [{"url": "file://DIR/a.js", "rule": "data.mcp.fetch.pre"}]}}"#,
        &["fetch.pre[0].rule: is \"data.mcp.fetch.pre\", expected the name of a global function, such as pre"],
    );
    check(
        &dir,
        r#"{"fetch": {"pre": [{"url": "file://DIR/a.rego", "rule": "allow"}]}}"#,
        &[
            "fetch.pre[0].rule: is \"allow\", expected a rule with its package, such as data.mcp.fetch.allow",
            "fetch.pre[0]: DIR/a.rego: does not exist",
        ],
    );
}

#[test]
fn a_text_that_is_not_one_json_value_is_refused() {
    let dir = Dir::new("text");
    let broken = mistakes(&dir, r#"{"fetch": }"#);
    assert!(broken[0].starts_with("--policies-json: not valid JSON: "), "{broken:?}");
    check(
        &dir,
        r#"{"fetch": {"mode": "all", "mode": "any"}}"#,
        &["the JSON key \"mode\" occurs twice in one object"],
    );
    check(
        &dir,
        "",
        &["is empty; give JSON that starts with { or the path of a file"],
    );
    let missing = mistakes(&dir, "DIR/none.json");
    let expected = "--policies-json: cannot read \"DIR/none.json\": No such file or directory (os error 2); give JSON \
                    that starts with { or the path of a file";
    assert_eq!(missing, [expected]);
}

#[test]
fn a_file_is_named_in_place_of_the_flag() {
    let dir = Dir::new("file");
    dir.file("p.json", "\u{feff}{\"fetch\": {\"mod\": 1}}");
    let told = mistakes(&dir, "DIR/p.json");
    assert_eq!(
        told,
        ["DIR/p.json: fetch.mod: unknown key, did you mean mode?; accepted are policies, mode, pre, post, stack"]
    );
}

#[test]
fn the_order_of_a_stack_is_checked() {
    let dir = Dir::new("stack");
    let url = dir.file("a.js", "function pre() {} function handle(i, n) { return n(i) }");
    let entries = "a source, \"@policy\", \"@execute\" or {\"execute\": {source}}";
    check(
        &dir,
        r#"{"fetch": {"stack": []}}"#,
        &["fetch.stack: lacks its innermost place; the last entry is \"@execute\" or {\"execute\": {source}}"],
    );
    check(
        &dir,
        r#"{"fetch": {"stack": ["@execute", "@execute"]}}"#,
        &["fetch.stack[1]: stands after fetch.stack[0], which is the innermost place; move it before"],
    );
    check(
        &dir,
        r#"{"fetch": {"stack": ["@policy", "@execute"]}}"#,
        &["fetch.stack[0]: there are no policies to place here; add policies or remove \"@policy\""],
    );
    check(
        &dir,
        r#"{"fetch": {"policies": [], "stack": ["@policy", "@policy", "@execute"]}}"#,
        &["fetch.stack[1]: \"@policy\" stands at fetch.stack[0] already; it has one place"],
    );
    check(
        &dir,
        r#"{"fetch": {"stack": ["@polcy", 1, "@execute"]}}"#,
        &[
            &format!("fetch.stack[0]: is the string \"@polcy\", did you mean \"@policy\"?; accepted are {entries}"),
            &format!("fetch.stack[1]: is 1; accepted are {entries}"),
        ],
    );
    check(
        &dir,
        r#"{"fetch": {"pre": [], "stack": ["@execute"]}}"#,
        &["fetch.pre: cannot stand beside stack, which replaces it; move its sources into the stack"],
    );
    let twice = format!(r#"{{"fetch": {{"stack": [{{"url": "{url}"}}, {{"url": "{url}"}}, "@execute"]}}}}"#);
    check(
        &dir,
        &twice,
        &["fetch.stack[1]: is a JavaScript file that stands in this stack already; it would wait for itself"],
    );
    std::os::unix::fs::symlink(dir.path().join("a.js"), dir.path().join("b.js")).unwrap();
    let linked = format!(
        r#"{{"fetch": {{"stack": [{{"url": "{url}"}}, {{"execute": {{"url": "{}"}}}}]}}}}"#,
        dir.url("b.js")
    );
    check(
        &dir,
        &linked,
        &["fetch.stack[1].execute: is a JavaScript file that stands in this stack already; it would wait for itself"],
    );
}

#[test]
fn a_source_must_fit_its_place() {
    let dir = Dir::new("place");
    dir.file("a.js", "function pre() {}");
    check(
        &dir,
        r#"{"fetch": {"policies": [{"url": "file://DIR/a.js"}]}}"#,
        &[
            "fetch.policies[0].url: JavaScript cannot be a policy, because policies will see credentials; accepted are Rego \
         and wasm, or move it to pre",
        ],
    );
    check(
        &dir,
        r#"{"fetch": {"stack": [{"execute": {"url": "file://DIR/a.rego"}}]}}"#,
        &["fetch.stack[0].execute.url: Rego cannot answer in place of the effect; accepted are JavaScript and wasm"],
    );
    check(
        &dir,
        r#"{"fetch": {"policies": [], "mode": "any"}}"#,
        &["fetch.mode: is any, but the list of policies is empty, so that nothing could ever be allowed"],
    );
    check(
        &dir,
        r#"{"fetch": {"mode": "all"}}"#,
        &["fetch.mode: there are no policies to combine; add policies or remove mode"],
    );
    let stamp = component("stamp.wasm");
    check(
        &dir,
        &format!(
            r#"{{"fetch": {{"post": [{{"url": "file://{}", "rule": "x"}}]}}}}"#,
            stamp.display()
        ),
        &[
            "fetch.post[0].rule: is \"x\", expected no rule: what a component does is what it exports",
            &format!(
                "fetch.post[0]: {}: stamp.wasm cannot be a post hook of fetch: that takes one of the roles fetch-post, \
             document-post, it exports fetch-layer",
                stamp.display()
            ),
        ],
    );
}

#[test]
fn files_that_are_not_there_or_not_right_are_named() {
    let dir = Dir::new("files");
    let pre = |name: &str| format!(r#"{{"fetch": {{"pre": [{{"url": "file://DIR/{name}"}}]}}}}"#);
    check(&dir, &pre("none.js"), &["fetch.pre[0]: DIR/none.js: does not exist"]);
    check(
        &dir,
        &pre("none.wasm"),
        &["fetch.pre[0]: DIR/none.wasm: does not exist"],
    );
    check(&dir, &pre("none"), &["fetch.pre[0]: DIR/none: does not exist"]);
    fs::create_dir(dir.path().join("dir.js")).unwrap();
    check(
        &dir,
        &pre("dir.js"),
        &["fetch.pre[0]: DIR/dir.js: is a directory, not a file"],
    );
    fs::create_dir(dir.path().join("empty")).unwrap();
    check(
        &dir,
        &pre("empty"),
        &["fetch.pre[0]: DIR/empty: is a directory without any .rego file"],
    );
    dir.file("policy.txt", "package mcp.fetch");
    check(
        &dir,
        &pre("policy.txt"),
        &["fetch.pre[0]: DIR/policy.txt: is neither a .js, .wasm or .rego file nor a directory of .rego files"],
    );
    dir.file("binary.js", [0xff, 0xfe]);
    check(
        &dir,
        &pre("binary.js"),
        &["fetch.pre[0]: DIR/binary.js: is not UTF-8 text"],
    );
    dir.file("secret.js", "function pre() {}");
    fs::set_permissions(dir.path().join("secret.js"), fs::Permissions::from_mode(0o000)).unwrap();
    // Root reads everything.
    if fs::read(dir.path().join("secret.js")).is_err() {
        check(
            &dir,
            &pre("secret.js"),
            &["fetch.pre[0]: DIR/secret.js: cannot be read: permission denied"],
        );
    }
    let relative = mistakes(&dir, r#"{"fetch": {"pre": [{"url": "file://policies/a.js"}]}}"#);
    assert!(relative[0].starts_with("--policies-json: fetch.pre[0].url: \"file://policies/a.js\" is not absolute: "));
}

#[test]
fn what_does_not_load_is_told_with_file_and_path() {
    let dir = Dir::new("load");
    dir.file("syntax.js", "function pre( {");
    dir.file("throws.js", "\n  throw new Error('not today')");
    dir.file("other.js", "function post() {}");
    dir.file("core.wasm", b"\0asm\x01\0\0\0");
    dir.file("text.wasm", "hello");
    let told = mistakes(
        &dir,
        r#"{"fetch": {"pre": [{"url": "file://DIR/syntax.js"}, {"url": "file://DIR/throws.js"},
            {"url": "file://DIR/other.js"}, {"url": "file://DIR/core.wasm"}, {"url": "file://DIR/text.wasm"}]}}"#,
    );
    for (i, (file, says)) in [
        ("syntax.js", "SyntaxError"),
        ("throws.js", "not today"),
        ("other.js", "pre"),
        ("core.wasm", "component"),
        ("text.wasm", "component"),
    ]
    .into_iter()
    .enumerate()
    {
        let start = format!("--policies-json: fetch.pre[{i}]: DIR/{file}: ");
        assert!(told[i].starts_with(&start) && told[i].contains(says), "{told:#?}");
    }
    assert_eq!(told.len(), 5);
}

#[test]
fn a_component_of_another_version_is_refused() {
    let dir = Dir::new("version");
    let old = component("old-contract.wasm");
    let told = mistakes(
        &dir,
        &format!(r#"{{"fetch": {{"pre": [{{"url": "file://{}"}}]}}}}"#, old.display()),
    );
    assert!(
        told[0].contains("fetch.pre[0]") && told[0].contains("0.9.0") && told[0].contains("seam:hooks@0.1"),
        "{told:?}"
    );
}

#[test]
fn rego_that_does_not_parse_or_lacks_its_rule_is_refused() {
    let dir = Dir::new("rego");
    dir.file("broken.rego", "package mcp.fetch\n\nallow if {");
    dir.file("other.rego", "package mcp.fetch\n\nallow := true");
    let told = mistakes(
        &dir,
        r#"{"fetch": {"policies": [{"url": "file://DIR/broken.rego"}], "pre": [{"url": "file://DIR/other.rego"}]}}"#,
    );
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(
        told[0].starts_with("--policies-json: fetch.policies[0]: DIR/broken.rego: "),
        "{told:#?}"
    );
    assert!(told[0].contains("broken.rego:"), "{told:#?}");
    assert!(
        told[1].starts_with("--policies-json: fetch.pre[0]: DIR/other.rego: "),
        "{told:#?}"
    );
    assert!(told[1].contains("data.mcp.fetch.pre"), "{told:#?}");
}

#[test]
fn without_the_rego_component_rego_is_refused_and_the_way_out_told() {
    let dir = Dir::new("no-rego");
    let url = dir.file("a.rego", "package mcp.fetch\nallow := true");
    let json = format!(r#"{{"fetch": {{"policies": [{{"url": "{url}"}}]}}}}"#);
    for command in ["check", "serve"] {
        let arguments = [
            command,
            "--policies-json",
            &json,
            "--components",
            dir.path().to_str().unwrap(),
        ];
        let end = finished(&mut seam(&arguments));
        assert_eq!(end.code, Some(1), "{end:?}");
        assert!(
            end.err.contains("rego.wasm") && end.err.contains("cargo xtask guests"),
            "{}",
            end.err
        );
    }
}

#[test]
fn serve_and_run_refuse_what_check_refuses() {
    let dir = Dir::new("refuse");
    dir.file("a.js", "1");
    let script = dir.path().join("a.js");
    let json = r#"{"fetch": {"polices": []}}"#;
    let served = finished(&mut seam(&["serve", "--policies-json", json]));
    let ran = finished(&mut seam(&["run", script.to_str().unwrap(), "--policies-json", json]));
    assert_eq!((served.code, ran.code), (Some(1), Some(2)));
    for end in [served, ran] {
        assert_eq!(end.out, "");
        assert!(
            end.err
                .contains("--policies-json: fetch.polices: unknown key, did you mean policies?"),
            "{}",
            end.err
        );
    }
}
