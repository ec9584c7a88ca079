//! Loading a file: mistakes show at once, and functions are found.

use std::{path::Path, time::Duration};

use seam_contract::{ErrorKind, document::Bodies};
use seam_hook_js::{JsFile, Options};

use crate::harness::*;

pub async fn a_mistake_names_file_line_and_column() {
    for (text, expected) in [
        (
            "function pre() {\n  return ;;) }",
            "/hooks/hook.js:2:12: SyntaxError: Unexpected token ')'",
        ),
        (
            "let a;\n\n  throw new TypeError('bad configuration')",
            "/hooks/hook.js:3:3: TypeError: bad configuration",
        ),
        (
            "nowhere.x = 1",
            "/hooks/hook.js:1:1: ReferenceError: nowhere is not defined",
        ),
        (
            "function f() { missing() }\nf()",
            "/hooks/hook.js:1:16: ReferenceError: missing is not defined",
        ),
        ("throw 'text'", "/hooks/hook.js:1:1: text"),
        (
            "(async () => { throw new Error('late') })()",
            "/hooks/hook.js: left a rejected promise unhandled (Error: late)",
        ),
        (
            "(function deep() { deep() })()",
            "RangeError: Maximum call stack size exceeded",
        ),
    ] {
        let error = load_error(text).await;
        assert!(error.contains(expected), "{text}: {error}");
    }
}

pub async fn a_module_is_told_what_to_do() {
    for text in [
        "export function pre() {}",
        "import x from 'y'",
        "export default 1",
        "const x = await 1",
    ] {
        let error = load_error(text).await;
        assert!(error.starts_with("/hooks/hook.js:1:"), "{error}");
        assert!(error.contains("a hook file is a plain script"), "{text}: {error}");
    }
}

pub async fn evaluation_ends() {
    let options = Options {
        load_limit: Duration::from_millis(100),
        heap: 32 << 20,
        ..Options::default()
    };
    for (text, expected) in [
        ("for (;;);", "evaluating it took longer than 100 ms"),
        (
            "(async () => { for (;;) await null })()",
            "evaluating it took longer than 100 ms",
        ),
        (
            "const a = []; for (;;) a.push([])",
            "evaluating it used more memory than its limit",
        ),
    ] {
        let options = Options {
            load_limit: if text.contains("push") {
                AMPLE
            } else {
                options.load_limit
            },
            ..options.clone()
        };
        let error = JsFile::load(Path::new("/hooks/hook.js"), text.into(), options)
            .await
            .map(|_| ())
            .unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string()),
            (ErrorKind::Config, format!("/hooks/hook.js: {expected}"))
        );
    }
}

pub async fn functions_are_found_however_they_are_declared() {
    for text in [
        "function pre() { return false }",
        "async function pre() { return false }",
        "const pre = () => false",
        "let pre = async () => false",
        "var pre = function () { return false }",
        "globalThis.pre = () => false",
        "'use strict'; const pre = (() => { const no = false; return () => no })()",
        "\u{feff}function pre() { return false }",
        "function pre() { return false }\r\n// the last line has no end",
        "class Rules { static pre() { return this } } const pre = () => Rules.pre() !== Rules",
    ] {
        let file = load(text).await;
        let (told, _) = through_pre(vec![pre(&file)], get("http://ok.test/")).await;
        assert_eq!(told, "fetch denied by pre hook: T", "{text}");
    }
    let file = load("const other$1 = () => false").await;
    let other = file.pre_hook("other$1", AMPLE, Bodies::Withheld).unwrap();
    assert_eq!(
        through_pre(vec![other], get("http://ok.test/")).await.0,
        "fetch denied by pre hook: T"
    );
}

pub async fn a_missing_function_lists_those_there_are() {
    let missing = |file: &std::sync::Arc<JsFile>, rule| {
        let error = file.pre_hook(rule, AMPLE, Bodies::Withheld).map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        error.to_string()
    };
    let file = load("function check() {} const post = () => {}; var limit = 3; globalThis.also = () => {}").await;
    assert_eq!(
        missing(&file, "pre"),
        "hook.js has no function named \"pre\"; it has also, check, post"
    );
    assert_eq!(
        missing(&file, "limit"),
        "hook.js has no function named \"limit\"; it has also, check, post"
    );
    for rule in ["", "1pre", "pre()", "a.b", "throw", "globalThis", "x;y", "constructor"] {
        assert!(missing(&file, rule).starts_with(&format!("hook.js has no function named {rule:?}; it has ")));
    }
    let spinning = load("Object.defineProperty(globalThis, 'pre', {get() { for (;;); }}); function post() {}").await;
    let expected = "hook.js: looking for the function \"pre\" took too long";
    assert_eq!(missing(&spinning, "pre"), expected);
    spinning.post_hook("post", AMPLE, Bodies::Withheld).map(|_| ()).unwrap();
    let empty = load("").await;
    let expected = "hook.js has no function named \"pre\"; it defines no function at its top level";
    assert_eq!(missing(&empty, "pre"), expected);
}

pub async fn a_worker_ends_with_its_file() {
    let options = Options {
        load_limit: AMPLE,
        ..Options::default()
    };
    let load = JsFile::load(Path::new("/hooks/given-up"), "for (;;);".into(), options.clone());
    assert!(tokio::time::timeout(Duration::from_millis(50), load).await.is_err());
    let file = JsFile::load(Path::new("/hooks/dropped"), "function pre() {}".into(), options)
        .await
        .unwrap();
    let hook = pre(&file);
    drop(file);
    assert_eq!(through_pre(vec![hook], get("http://ok.test/")).await.0, "200");
    // Linux keeps fifteen bytes of a thread's name.
    while threads()
        .iter()
        .any(|name| name.starts_with("seam-hook given") || name.starts_with("seam-hook dropp"))
    {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The names of this process's threads.
fn threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    // A thread may end between being listed and being read.
    tasks
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok())
        .collect()
}
