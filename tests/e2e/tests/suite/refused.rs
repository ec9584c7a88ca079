//! Configurations that cannot be carried out: `check` and `serve` say so and do not start.

use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result};
use seam_e2e::{Files, Product};
use serde_json::{Value, json};

/// Runs to the end with an empty standard input.
fn output(mut command: Command) -> Result<Output> {
    command.stdin(Stdio::null()).output().context("seam cannot be started")
}

#[track_caller]
fn refused(what: &str, output: &Output, says: &[&str]) {
    let text = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success(), "{what} was accepted:\n{text}");
    for part in says {
        assert!(text.contains(part), "{what}: no {part:?} in\n{text}");
    }
    assert!(!text.contains("panicked"), "{what}:\n{text}");
}

#[test]
fn mistakes_name_the_file_the_place_and_what_is_accepted() -> Result<()> {
    let (product, files) = (Product::find()?, Files::new()?);
    let good = files.write("good.js", "function pre() {}")?;
    let syntax = files.write("syntax.js", "function pre( {")?;
    let throws = files.write("throws.js", "throw new Error('at load')")?;
    let none = files.write("none.js", "function before() {}")?;
    let rego = files.write("broken.rego", "package mcp.fetch\n\npre := {")?;
    let old = files.write("v0.rego", "package mcp.fetch\nallow { input.x }")?;
    let other = files.write("other.rego", "package mcp.fetch\nallow if true")?;
    let core = files.path("core.wasm");
    std::fs::write(&core, b"\0asm\x01\0\0\0")?;
    let core = seam_e2e::files::file_url(&core)?;
    let missing = format!("file://{}", files.path("missing.js").display());
    let old_contract = product.component("old-contract")?;
    let pre = |url: &str| json!({"fetch": {"pre": [{"url": good}, {"url": url}]}});
    let cases: Vec<(&str, Value, Vec<&str>)> = vec![
        ("an unknown operation", json!({"fetsh": {}}), vec!["fetsh", "fetch"]),
        (
            "an unknown key",
            json!({"fetch": {"polices": []}}),
            vec!["fetch.polices", "policies"],
        ),
        (
            "an unknown key of a source",
            json!({"fetch": {"pre": [{"url": good, "timeout": 5}]}}),
            vec!["fetch.pre[0].timeout", "timeout_ms"],
        ),
        (
            "a limit as a text",
            json!({"fetch": {"pre": [{"url": good, "timeout_ms": "500"}]}}),
            vec!["fetch.pre[0].timeout_ms", "ms"],
        ),
        (
            "a limit of zero",
            json!({"fetch": {"pre": [{"url": good, "timeout_ms": 0}]}}),
            vec!["fetch.pre[0].timeout_ms"],
        ),
        (
            "a relative file URL",
            pre("file://hooks/good.js"),
            vec!["fetch.pre[1]", "file://"],
        ),
        ("a missing file", pre(&missing), vec!["fetch.pre[1]", "missing.js"]),
        (
            "an unknown scheme",
            pre("ftp://ok.test/a.js"),
            vec!["fetch.pre[1]", "ftp", "file://"],
        ),
        (
            "JavaScript that does not parse",
            pre(&syntax),
            vec!["fetch.pre[1]", "syntax.js", "SyntaxError"],
        ),
        (
            "JavaScript that throws at load",
            pre(&throws),
            vec!["fetch.pre[1]", "throws.js", "at load"],
        ),
        (
            "JavaScript without the function",
            pre(&none),
            vec!["fetch.pre[1]", "none.js", "pre", "before"],
        ),
        (
            "Rego that does not parse",
            pre(&rego),
            vec!["fetch.pre[1]", "broken.rego", "3"],
        ),
        (
            "Rego of the old syntax",
            pre(&old),
            vec!["fetch.pre[1]", "v0.rego", "2"],
        ),
        (
            "Rego without the rule",
            pre(&other),
            vec!["fetch.pre[1]", "other.rego", "data.mcp.fetch.pre"],
        ),
        ("a core module", pre(&core), vec!["fetch.pre[1]", "core.wasm"]),
        (
            "a component of another version",
            pre(&old_contract),
            vec!["fetch.pre[1]", "old-contract.wasm", "0.9.0"],
        ),
        (
            "JavaScript as a policy",
            json!({"fetch": {"policies": [{"url": good}]}}),
            vec!["fetch.policies[0]"],
        ),
        (
            "a stack without an end",
            json!({"fetch": {"stack": []}}),
            vec!["fetch.stack", "@execute"],
        ),
        (
            "an unknown built-in",
            json!({"fetch": {"stack": ["@polcy", "@execute"]}}),
            vec!["fetch.stack[0]", "@policy"],
        ),
    ];
    for (what, policies, says) in &cases {
        for subcommand in ["check", "serve"] {
            refused(
                &format!("{what} by {subcommand}"),
                &output(product.configured(subcommand, policies))?,
                says,
            );
        }
    }
    Ok(())
}

#[test]
fn a_file_of_configuration_is_named() -> Result<()> {
    let (product, files) = (Product::find()?, Files::new()?);
    files.write("policies.json", "{\"fetch\": {\"pre\": [{\"url\": \"gopher://x\"}]}}")?;
    let mut command = product.command("check");
    command.arg("--policies-json").arg(files.path("policies.json"));
    refused(
        "an unknown scheme",
        &output(command)?,
        &["policies.json", "fetch.pre[0]", "gopher"],
    );
    Ok(())
}

#[test]
fn without_the_rego_component_there_is_no_start() -> Result<()> {
    let (product, files) = (Product::find()?, Files::new()?);
    let policy = files.write("policy.rego", "package mcp.fetch\nallow if true")?;
    let policies = json!({"fetch": {"policies": [{"url": policy}]}}).to_string();
    for subcommand in ["check", "serve"] {
        // A later argument would be a repetition, so this command is made by hand.
        let mut command = Command::new(product.binary());
        command
            .arg(subcommand)
            .arg("--components")
            .arg(files.path("nowhere"))
            .arg("--policies-json")
            .arg(&policies);
        refused(
            subcommand,
            &output(command)?,
            &["rego.wasm", "nowhere", "cargo xtask guests"],
        );
    }
    Ok(())
}

#[test]
fn check_shows_the_stack_in_order() -> Result<()> {
    let (product, files) = (Product::find()?, Files::new()?);
    let js = files.write("first.js", "function pre() {}\nfunction post() {}")?;
    let rego = files.write("second.rego", "package mcp.fetch\npre := true\nallow := true")?;
    let policies =
        json!({"fetch": {"policies": [{"url": rego}], "pre": [{"url": js}, {"url": rego}], "post": [{"url": js}]}});
    let output = output(product.configured("check", &policies))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let mut rest = text.as_str();
    for place in ["first.js", "second.rego", "first.js", "@policy", "@execute"] {
        let at = rest
            .find(place)
            .with_context(|| format!("no {place} where it should be in\n{text}"))?;
        rest = &rest[at + place.len()..];
    }
    Ok(())
}

/// The shipped policies, as single files and as the directory they lie in.
#[test]
fn the_shipped_policies_load() -> Result<()> {
    let product = Product::find()?;
    let shipped = |path: &str| product.shipped(path).map(|url| json!({ "url": url }));
    let (directory, js) = (shipped("policies")?, shipped("policies/fetch_hooks.js")?);
    let (policy, rego) = (shipped("policies/fetch.rego")?, shipped("policies/fetch_hooks.rego")?);
    for policies in [
        json!({"fetch": {"policies": [policy], "pre": [js, rego], "post": [js, rego]}}),
        json!({"fetch": {"policies": [directory], "pre": [directory], "post": [directory]}}),
    ] {
        let output = output(product.configured("check", &policies))?;
        assert!(
            output.status.success(),
            "{policies}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}
