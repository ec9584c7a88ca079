//! The suite: every case on every backend, and the proof that the suite can fail.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};

use anyhow::{Context, Result, anyhow, ensure};
use seam_conformance::{
    Backend, Case, Engines, Expected, Hooks, Observed,
    case::{self, Outcome},
    differences, observe, on_stage,
};

/// The fewest cases that every backend must run: the promise of the suite's size.
const FEWEST: usize = 30;

/// A case on one backend, and what came of it.
struct Ran {
    hook: String,
    case: Case,
    observed: Observed,
}

#[test]
fn every_case_comes_out_the_same_on_every_backend() -> Result<()> {
    let cases = case::load(&here("cases"))?;
    for backend in Backend::ALL {
        let runs = cases.iter().filter(|case| backend.fits(case)).count();
        ensure!(runs >= FEWEST, "{backend:?} runs {runs} cases, fewer than {FEWEST}");
    }
    judge(&run(cases, vectors()?)?)
}

/// `SEAM_CASES=<directory>` runs the cases of a directory outside the repository.
#[test]
fn cases_from_elsewhere_come_out_too() -> Result<()> {
    let Some(directory) = std::env::var_os("SEAM_CASES") else {
        // Nothing given is nothing to run; that a directory runs is shown below.
        return Ok(());
    };
    judge(&run(case::load(Path::new(&directory))?, vectors()?)?)
}

#[test]
fn a_directory_of_cases_runs_and_can_fail() -> Result<()> {
    let good = case::load(&here("tests/elsewhere/good"))?;
    judge(&run(good, vectors()?)?)?;
    let bad = case::load(&here("tests/elsewhere/bad"))?;
    let error = judge(&run(bad, vectors()?)?)
        .err()
        .context("the wrong cases passed")?
        .to_string();
    for backend in Backend::ALL {
        ensure!(
            error.contains(&format!("vectors{}", backend.extension())),
            "{backend:?} did not notice: {error}"
        );
    }
    Ok(())
}

#[test]
fn the_shipped_policies_do_what_their_cases_say() -> Result<()> {
    let policies = here("../../policies");
    for (cases, hooks) in [
        ("fetch.cases.json", vec!["fetch.rego"]),
        ("fetch_hooks.cases.json", vec!["fetch_hooks.rego", "fetch_hooks.js"]),
    ] {
        let cases = case::load_file(&policies.join(cases))?;
        let loaded: Vec<_> = hooks
            .iter()
            .map(|hook| Ok(Arc::new(engines()?.file(&policies.join(hook))?)))
            .collect::<Result<_>>()?;
        judge(&run(cases, loaded)?)?;
    }
    Ok(())
}

/// Turns every single expectation of every case into its opposite, one at a time: each must
/// be noticed, on every backend. So no expectation is there for show.
#[test]
fn no_expectation_can_be_inverted_unnoticed() -> Result<()> {
    let mut inverted = 0;
    for ran in run(case::load(&here("cases"))?, vectors()?)? {
        let expected = Expected::of(&ran.case)?;
        for (what, wrong) in inversions(&expected) {
            let found = differences(&wrong, &ran.observed, &ran.hook);
            ensure!(
                !found.is_empty(),
                "{} on {}: nobody notices a wrong {what}",
                ran.case.name,
                ran.hook
            );
            inverted += 1;
        }
    }
    // A case has an outcome, steps, and a message or an answer, at the least.
    ensure!(inverted > 3 * 3 * FEWEST, "only {inverted} expectations were inverted");
    Ok(())
}

/// Every expectation with one thing wrong in it, and what that is.
fn inversions(right: &Expected) -> Vec<(String, Expected)> {
    let mut all = Vec::new();
    let mut wrong = |what: String, change: &dyn Fn(&mut Expected)| {
        let mut expected = right.clone();
        change(&mut expected);
        all.push((what, expected));
    };
    for outcome in [Outcome::Answered, Outcome::Denied, Outcome::Failed] {
        if outcome != right.outcome {
            wrong("outcome".into(), &|it| it.outcome = outcome);
        }
    }
    for at in 0..right.steps.len() {
        wrong(format!("step {at}"), &|it| {
            it.steps[at] = format!("not {}", right.steps[at])
        });
        wrong(format!("missing step {at}"), &|it| drop(it.steps.remove(at)));
    }
    wrong("extra step".into(), &|it| it.steps.push("answer".into()));
    match &right.message {
        Some(message) => {
            wrong("message".into(), &|it| it.message = Some(format!("{message}!")));
            wrong("missing message".into(), &|it| it.message = None);
        }
        None => wrong("extra message".into(), &|it| it.message = Some("*".into())),
    }
    for at in 0..right.sent.len() {
        wrong(format!("missing request {at}"), &|it| drop(it.sent.remove(at)));
        for part in 0..right.sent[at].parts.len() {
            let name = right.sent[at].parts[part].0;
            wrong(format!("{name} of request {at}"), &|it| {
                it.sent[at].parts[part].1.push('!')
            });
        }
        for header in 0..right.sent[at].headers.len() {
            wrong(format!("header of request {at}"), &|it| {
                it.sent[at].headers[header].1.push('!')
            });
        }
        wrong(format!("extra header of request {at}"), &|it| {
            it.sent[at].headers.push(("z-z".into(), "1".into()))
        });
    }
    wrong("extra request".into(), &|it| {
        let extra = it.sent.first().cloned();
        it.sent
            .push(extra.unwrap_or_else(|| seam_conformance::observe::Message {
                parts: vec![],
                headers: vec![],
            }));
    });
    if let Some(answer) = &right.answer {
        wrong("missing answer".into(), &|it| it.answer = None);
        for part in 0..answer.parts.len() {
            let name = answer.parts[part].0;
            wrong(format!("{name} of the answer"), &|it| {
                it.answer.iter_mut().for_each(|answer| answer.parts[part].1.push('!'));
            });
        }
        for header in 0..answer.headers.len() {
            wrong("header of the answer".into(), &|it| {
                it.answer
                    .iter_mut()
                    .for_each(|answer| answer.headers[header].1.push('!'));
            });
        }
    }
    all
}

/// Runs the cases on every hook they fit.
fn run(cases: Vec<Case>, hooks: Vec<Arc<Hooks>>) -> Result<Vec<Ran>> {
    on_stage(async move {
        let mut all = Vec::new();
        for hook in hooks {
            for case in cases.iter().filter(|case| hook.backend().fits(case)) {
                let observed = observe(case, hook.layers(case).await?).await;
                let observed = observed.with_context(|| format!("{} on {}", case.name, hook.name()))?;
                let hook = hook.name().to_owned();
                all.push(Ran {
                    hook,
                    case: case.clone(),
                    observed,
                });
            }
        }
        Ok(all)
    })
}

/// Everything that came out otherwise than expected, as one error.
fn judge(all: &[Ran]) -> Result<()> {
    let mut wrong = String::new();
    for ran in all {
        for difference in differences(&Expected::of(&ran.case)?, &ran.observed, &ran.hook) {
            let Ran { hook, case, .. } = ran;
            wrong.push_str(&format!(
                "\n{} ({}) on {hook}\n  {difference}",
                case.name,
                case.file.display()
            ));
        }
    }
    ensure!(wrong.is_empty(), "{wrong}");
    Ok(())
}

/// The conformance hook in every language.
fn vectors() -> Result<Vec<Arc<Hooks>>> {
    static VECTORS: LazyLock<Result<Vec<Arc<Hooks>>>> = LazyLock::new(|| {
        let engines = engines()?;
        let [rego, js] = ["hooks/vectors.rego", "hooks/vectors.js"].map(|file| engines.file(&here(file)));
        Ok(vec![
            Arc::new(rego?),
            Arc::new(js?),
            Arc::new(engines.component("vectors")?),
        ])
    });
    VECTORS.as_ref().map(Vec::clone).map_err(|error| anyhow!("{error:#}"))
}

/// One set of engines for all tests of this process.
fn engines() -> Result<&'static Engines> {
    static ENGINES: LazyLock<Result<Engines>> = LazyLock::new(Engines::start);
    ENGINES.as_ref().map_err(|error| anyhow!("{error:#}"))
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}
