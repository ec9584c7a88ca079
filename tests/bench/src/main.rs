//! `cargo xtask bench`: what each kind of hook adds to an operation, through
//! `Stack::run`, and what one `run_js` takes. Prints the results page.
//!
//! Usage: `seam-bench SEAM_BINARY COMPONENTS_DIR`.

mod measure;
mod server;
mod stacks;

use std::{fmt::Write as _, fs, path::PathBuf, sync::Arc};

use anyhow::Context as _;
use futures::FutureExt as _;
use seam_contract::{Caller, Stack};
use serde_json::json;

use measure::{Subject, Times};
use stacks::{Reasons, Stacks};

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let usage = "usage: seam-bench SEAM_BINARY COMPONENTS_DIR; cargo xtask bench runs it";
    let (Some(binary), Some(components), None) = (arguments.next(), arguments.next(), arguments.next()) else {
        anyhow::bail!(usage);
    };
    seam_isolate::init_platform();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let stacks = Stacks::build(&components).await?;
        let fresh = prove_fresh_instances(&stacks).await?;
        let times = measure_stacks(&stacks).await?;
        let mut server = server::Server::start(&binary).await?;
        let end_to_end = measure_server(&mut server).await?;
        print!("{}", page(&times, &end_to_end, fresh)?);
        Ok(())
    })
}

/// Calls the counting guest often and returns how often; fails if an instance was ever
/// called twice.
async fn prove_fresh_instances(stacks: &Stacks) -> anyhow::Result<usize> {
    let reasons = Arc::new(Reasons::default());
    let caller = Arc::new(Caller {
        recorder: Some(reasons.clone()),
        ..Caller::new("count")
    });
    for _ in 0..1000 {
        stacks::call(stacks.count.clone(), caller.clone(), stacks::request()?).await?;
    }
    let reasons = reasons.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    anyhow::ensure!(
        reasons.len() == 1000 && reasons.iter().all(|reason| reason == "calls=1"),
        "the counting guest said {:?}: an instance served two calls",
        reasons.iter().find(|reason| *reason != "calls=1")
    );
    Ok(reasons.len())
}

async fn measure_stacks(stacks: &Stacks) -> anyhow::Result<Vec<Times>> {
    let caller = Arc::new(Caller::new("bench"));
    let operation = stacks::request()?;
    let through = |name, calls, stack: &Arc<Stack>| {
        let (stack, caller, operation) = (stack.clone(), caller.clone(), operation.clone());
        let call = move || stacks::call(stack.clone(), caller.clone(), operation.clone());
        Subject {
            name,
            calls,
            call: Box::new(call),
        }
    };
    let before = stacks.executor.runs();
    let document = {
        let call = seam_contract::Call::new(caller.clone(), &operation);
        let bodies = seam_contract::document::Bodies::Withheld;
        seam_contract::json::write(&seam_contract::document::input(&call, &operation, bodies))
    };
    let mut native = NativeRego::new()?;
    let subjects = vec![
        through("stack without layers", 2000, &stacks.bare),
        through("empty wasm layer", 500, &stacks.wasm_layer),
        through("Rego policy in the component", 300, &stacks.rego),
        Subject {
            name: "the same policy, native regorus",
            calls: 300,
            call: Box::new(move || std::future::ready(native.judge(&document)).boxed()),
        },
        through("empty JS hook", 300, &stacks.js_hook),
        through("JS layer that calls next", 300, &stacks.js_layer),
    ];
    let through_executor: usize = subjects
        .iter()
        .filter(|s| !s.name.contains("native"))
        .map(|s| s.calls)
        .sum();
    let times = measure::run(subjects).await?;
    anyhow::ensure!(
        stacks.executor.runs() - before >= through_executor as u64,
        "calls did not reach the executor"
    );
    Ok(times)
}

/// What peers embed: regorus' interpreter in the process, warm, fed the same document.
struct NativeRego(regorus::Engine);

impl NativeRego {
    fn new() -> anyhow::Result<Self> {
        let mut engine = regorus::Engine::new();
        engine.add_policy("policy.rego".into(), stacks::POLICY.into())?;
        Ok(Self(engine))
    }

    fn judge(&mut self, document: &str) -> anyhow::Result<()> {
        self.0.set_input(regorus::Value::from_json_str(document)?);
        let verdict = self.0.eval_rule(stacks::RULE.into())?;
        anyhow::ensure!(verdict == regorus::Value::from(true), "native regorus says {verdict}");
        Ok(())
    }
}

async fn measure_server(server: &mut server::Server) -> anyhow::Result<Times> {
    let server = tokio::sync::Mutex::new(server);
    let call = || async { server.lock().await.run_js("1+1", &json!(2)).await }.boxed();
    let subject = Subject {
        name: "run_js(\"1+1\") over stdio",
        calls: 10,
        call: Box::new(call),
    };
    let mut times = measure::run(vec![subject]).await?;
    times.pop().context("nothing was measured")
}

fn page(times: &[Times], end_to_end: &Times, fresh: usize) -> anyhow::Result<String> {
    let by_name = |name: &str| {
        times
            .iter()
            .find(|times| times.name == name)
            .context("a subject is missing")
    };
    let base = by_name("stack without layers")?.quantile(0.5);
    let native = by_name("the same policy, native regorus")?.quantile(0.5);
    let mut page = String::new();
    writeln!(
        page,
        "# What the seam costs\n\nMade by `cargo xtask bench`. {}\n",
        machine()
    )?;
    writeln!(
        page,
        "| one call of | p50 µs | p99 µs | added to the bare stack, µs | calls |"
    )?;
    writeln!(page, "|---|---:|---:|---:|---:|")?;
    for times in times {
        let p50 = times.quantile(0.5);
        let added = if times.name.contains("native") {
            "(no stack)".into()
        } else {
            format!("{:.1}", p50 - base)
        };
        writeln!(
            page,
            "| {} | {p50:.1} | {:.1} | {added} | {} |",
            times.name,
            times.quantile(0.99),
            times.count()
        )?;
    }
    let (p50, p99) = (end_to_end.quantile(0.5), end_to_end.quantile(0.99));
    writeln!(
        page,
        "| {} | {p50:.0} | {p99:.0} | (end to end) | {} |\n",
        end_to_end.name,
        end_to_end.count()
    )?;
    let rego = by_name("Rego policy in the component")?.quantile(0.5) - base;
    writeln!(
        page,
        "- Rego through the component takes {:.2} × native regorus on the same policy and input.",
        rego / native
    )?;
    writeln!(
        page,
        "- A fresh instance for each wasm call: a guest that counts its calls never passed 1 in {fresh} calls."
    )?;
    writeln!(
        page,
        "- Every number is from this one run; subjects took turns, {} rounds.",
        measure::ROUNDS
    )?;
    Ok(page)
}

/// What machine this is, as the kernel says.
fn machine() -> String {
    let field = |text: &str, key: &str| {
        let line = text.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!(
        "Machine: {}, {cores} cores, memory {}, Linux {}. Built with optimised dependencies, own code at opt-level 3{}.",
        field(&cpu, "model name").unwrap_or_else(|| "unknown processor".into()),
        field(&memory, "MemTotal").unwrap_or_else(|| "unknown".into()),
        kernel.trim(),
        if cfg!(debug_assertions) {
            " (debug assertions on)"
        } else {
            ""
        },
    )
}
