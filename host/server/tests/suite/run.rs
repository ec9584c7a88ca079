//! `seam run`

use crate::support::{Dir, finished, seam};

#[test]
fn the_result_goes_to_standard_output_and_all_else_to_standard_error() {
    let dir = Dir::new("run");
    dir.file(
        "a.ts",
        "console.log('log'); console.error('error'); const n: number = 20; ({n: n + 1})",
    );
    let end = finished(&mut seam(&["run", dir.path().join("a.ts").to_str().unwrap()]));
    assert_eq!(
        (end.code, end.out.as_str(), end.err.as_str()),
        (Some(0), "{\"n\":21}\n", "log\nerror\n")
    );
}

#[test]
fn a_failure_is_told_and_is_the_exit_status() {
    let dir = Dir::new("run-fails");
    dir.file("a.js", "\nnull.x");
    dir.file("loop.js", "for (;;) {}");
    dir.file("none.js", "");
    let path = |name: &str| dir.path().join(name).display().to_string();
    let end = finished(&mut seam(&["run", &path("a.js")]));
    assert_eq!((end.code, end.out.as_str()), (Some(1), ""));
    assert!(
        end.err.contains("TypeError") && end.err.contains("a.js:2"),
        "{}",
        end.err
    );
    let end = finished(&mut seam(&["run", &path("loop.js"), "--timeout-secs", "1"]));
    assert_eq!((end.code, end.out.as_str()), (Some(1), ""));
    assert!(end.err.contains("1 s") || end.err.contains("1000 ms"), "{}", end.err);
    let end = finished(&mut seam(&["run", &path("none.js")]));
    assert_eq!((end.code, end.out.as_str(), end.err.as_str()), (Some(0), "", ""));
    let end = finished(&mut seam(&["run", &path("missing.js")]));
    assert_eq!((end.code, end.out.as_str()), (Some(2), ""));
    assert!(
        end.err.contains("cannot read") && end.err.contains("missing.js"),
        "{}",
        end.err
    );
    for wrong in [["--timeout-secs", "0"], ["--heap-mb", "1"]] {
        let end = finished(&mut seam(&["run", &path("a.js"), wrong[0], wrong[1]]));
        assert_eq!(end.code, Some(2), "{}", end.err);
    }
}

#[test]
fn the_trace_is_a_table_of_each_operation() {
    let dir = Dir::new("run-trace");
    let hook = dir.file(
        "hook.js",
        "function handle(input) {
           return {status: 200, statusText: '', url: input.url, headers: {}, body: '', bodyEncoding: 'base64', redirected: false};
         }",
    );
    let gate = dir.file("gate.js", "function handle(i, n) { if (i.method === 'PUT') throw Object.assign(new Error('no writes'), {name: 'Denied'}); return n(i) }");
    dir.file(
        "a.js",
        "await fetch('http://ok.test/a'); await fetch('http://ok.test/b', {method: 'PUT'}).catch(e => e.message)",
    );
    let json = format!(r#"{{"fetch": {{"stack": [{{"url": "{gate}"}}, {{"execute": {{"url": "{hook}"}}}}]}}}}"#);
    let file = dir.path().join("a.js");
    let end = finished(&mut seam(&[
        "run",
        file.to_str().unwrap(),
        "--policies-json",
        &json,
        "--trace",
    ]));
    assert_eq!(end.code, Some(0), "{end:?}");
    assert_eq!(end.out, "fetch denied by layer (no writes): http://ok.test/b\n");
    let words: Vec<Vec<&str>> = end
        .err
        .lines()
        .map(|line| {
            line.split_whitespace()
                .filter(|word| word.parse::<u64>().is_err())
                .collect()
        })
        .collect();
    let rows: Vec<String> = words.iter().map(|row| row.join(" ")).collect();
    assert!(
        rows.iter()
            .any(|row| row.starts_with("fetch http://ok.test/a: answered in")),
        "{}",
        end.err
    );
    assert!(rows.contains(&"gate.js layer pass".to_owned()), "{}", end.err);
    assert!(rows.contains(&"hook.js executor answer".to_owned()), "{}", end.err);
    assert!(rows.contains(&"gate.js layer deny no writes".to_owned()), "{}", end.err);
}
