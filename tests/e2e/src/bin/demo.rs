//! `cargo xtask demo`: four fetches through the shipped binary, shown twice: as the binary
//! recorded them and as they arrived at a server. Fails unless both are as they should be.
//!
//! The stack is a JavaScript layer around a wasm layer around a Rego policy around the
//! real HTTP client.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use seam_e2e::{Answer, Files, Product, Recorder, Session, trace};
use serde_json::json;

/// The places of the stack, as the trace names them.
const PLACES: [&str; 4] = ["hook.js", "stamp.wasm", "@policy", "@execute"];

/// One fetch of the demo and what must come of it.
struct Fetch {
    title: &'static str,
    path: &'static str,
    /// What the script gets: the status, or the error.
    script: Result<u16, &'static str>,
    outcome: &'static str,
    /// The decisions of the places it comes to, outermost first.
    decisions: &'static [&'static str],
    /// The target that arrives at the server, if one does.
    arrives: Option<&'static str>,
}

const FETCHES: [Fetch; 4] = [
    Fetch {
        title: "allowed",
        path: "/news",
        script: Ok(200),
        outcome: "answered",
        decisions: &["pass", "rewrite", "allow", "answer"],
        arrives: Some("/news"),
    },
    Fetch {
        title: "rewritten by the JavaScript layer",
        path: "/v1/items?page=2",
        script: Ok(200),
        outcome: "answered",
        decisions: &["rewrite", "rewrite", "allow", "answer"],
        arrives: Some("/v2/items?page=2"),
    },
    Fetch {
        title: "denied by the JavaScript layer",
        path: "/news?token=KEY",
        script: Err("Denied: fetch denied by layer (credentials in query string): "),
        outcome: "denied",
        decisions: &["deny"],
        arrives: None,
    },
    Fetch {
        title: "denied by the policy",
        path: "/admin/users",
        script: Err("Denied: fetch denied by policy (the admin pages are closed): "),
        outcome: "denied",
        decisions: &["pass", "rewrite", "deny"],
        arrives: None,
    },
];

#[tokio::main]
async fn main() -> Result<()> {
    let product = Product::find()?;
    let files = Files::new()?;
    let server = Recorder::start().await?;
    for path in ["/news", "/v1/items", "/v2/items", "/admin/users"] {
        server.route(path, Answer::new(200, format!("this is {path}")));
    }
    let trace = files.path("trace.jsonl");
    let policies = json!({"fetch": {
        "policies": [{"url": product.shipped("tests/e2e/demo/policy.rego")?}],
        "stack": [
            {"url": product.shipped("tests/e2e/demo/hook.js")?},
            {"url": product.component("stamp")?},
            "@policy",
            "@execute",
        ],
    }});
    let mut command = product.configured("serve", &policies);
    command.arg("--trace").arg(&trace);

    println!("Starting seam serve (the first start compiles the components) ...");
    let session = Session::start(command).await?;
    let mut mistakes = Vec::new();
    for fetch in &FETCHES {
        let url = server.url(fetch.path);
        let run = session.run(&format!("(await fetch({})).status", json!(url))).await?;
        println!(
            "\n{}\n  script: fetch({url:?})\n  gets:   {}",
            fetch.title,
            run.text.lines().next().unwrap_or_default()
        );
        let got = if run.is_error {
            Err(run.error()?)
        } else {
            Ok(run.value()?.clone())
        };
        let as_expected = match (&got, &fetch.script) {
            (Ok(status), Ok(expected)) => status == expected,
            (Err(error), Err(expected)) => error.starts_with(expected),
            _ => false,
        };
        if !as_expected {
            mistakes.push(format!("{}: the script got {got:?}", fetch.title));
        }
    }
    session.close().await?;

    println!("\nWhat the binary recorded (its own trace)");
    let operations = trace::read(&trace)?;
    show(&operations);
    for (fetch, operation) in FETCHES.iter().zip(&operations) {
        let decisions: Vec<_> = operation.steps.iter().map(|step| step.decision.as_str()).collect();
        let names: Vec<_> = operation.steps.iter().map(|step| step.name.as_str()).collect();
        let expected = PLACES
            .get(..fetch.decisions.len())
            .context("more decisions than places")?;
        if operation.outcome != fetch.outcome || decisions != fetch.decisions || names != expected {
            mistakes.push(format!(
                "{}: recorded as {} by {names:?} {decisions:?}",
                fetch.title, operation.outcome
            ));
        }
    }
    if operations.len() != FETCHES.len() {
        mistakes.push(format!(
            "{} operations on record, not {}",
            operations.len(),
            FETCHES.len()
        ));
    }

    println!("\nWhat the server saw (hits per URL)");
    let mut hits: BTreeMap<String, usize> = BTreeMap::new();
    let asked = FETCHES.iter().map(|fetch| fetch.path);
    for target in asked.chain(FETCHES.iter().filter_map(|fetch| fetch.arrives)) {
        hits.insert(target.into(), 0);
    }
    for target in server.targets() {
        *hits.entry(target).or_default() += 1;
    }
    for (target, count) in &hits {
        println!("  {count} × {target}");
        let expected = FETCHES.iter().filter(|fetch| fetch.arrives == Some(target)).count();
        if *count != expected {
            mistakes.push(format!("{target} was hit {count} times, not {expected}"));
        }
    }
    let unmarked = server
        .hits()
        .iter()
        .filter(|hit| hit.header("x-seam-layer") != ["GET 127.0.0.1"])
        .count();
    if unmarked > 0 {
        mistakes.push(format!("{unmarked} requests came without the wasm layer's mark"));
    }

    ensure!(mistakes.is_empty(), "not as it should be:\n  {}", mistakes.join("\n  "));
    println!("\nAll four are as they should be.");
    Ok(())
}

/// The trace as a table.
fn show(operations: &[trace::Operation]) {
    for operation in operations {
        println!(
            "\n  {} {} in {} µs",
            operation.target, operation.outcome, operation.micros
        );
        for step in &operation.steps {
            let place = format!("{}{}", "  ".repeat(step.depth), step.name);
            let what = match &step.rewrote[..] {
                [] => step.decision.clone(),
                fields => format!("{} ({})", step.decision, fields.join(", ")),
            };
            let reason = step.reason.as_deref().unwrap_or_default();
            println!(
                "    {place:<20} {:<10} {:>8} µs  {what:<22} {reason}",
                step.role, step.micros
            );
        }
    }
}
