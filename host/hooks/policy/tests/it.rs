//! How policies combine, as a table: each source answers as its letter says.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use seam_contract::{
    Caller, Cx, Error, Executor, Operation, OperationKind, Output, PreHook, Refusal, Stack, Verdict,
    fetch::{Request, Response},
    headers::Headers,
};
use seam_hook_policy::{Mode, Policy};

/// `y` yes, `n` no, `N` no with its reason, `a` abstains, `e` fails, `s` rewrites to the
/// same, `r` rewrites, `h` hangs.
struct Source(char);

impl PreHook for Source {
    fn name(&self) -> &str {
        "source"
    }

    fn limit(&self) -> Option<Duration> {
        Some(Duration::from_millis(10))
    }

    fn judge<'a>(&'a self, _: &'a Cx, input: &'a Operation) -> BoxFuture<'a, Result<Verdict<Operation>, Error>> {
        async move {
            let Operation::Fetch(request) = input;
            Ok(match self.0 {
                'y' => Verdict::Allow { reason: None },
                'n' => Verdict::Deny { reason: None },
                'N' => Verdict::Deny {
                    reason: Some("why".into()),
                },
                'a' => Verdict::Abstain,
                's' => Verdict::Rewrite {
                    to: input.clone(),
                    reason: None,
                },
                'r' => Verdict::Rewrite {
                    to: Operation::Fetch(request.with_method("PUT")?),
                    reason: None,
                },
                'h' => std::future::pending().await,
                _ => return Err(Error::hook("broke")),
            })
        }
        .boxed()
    }
}

struct Answers;

impl Executor for Answers {
    fn execute<'a>(
        &'a self,
        _: &'a Cx,
        Operation::Fetch(request): Operation,
    ) -> BoxFuture<'a, Result<Output, Refusal>> {
        async move { Ok(Output::Fetch(Response::new(200, request.url().as_str())?)) }.boxed()
    }
}

async fn check(mode: Mode, sources: &str, expected: &str) {
    let hooks = sources
        .chars()
        .map(|letter| Arc::new(Source(letter)) as Arc<dyn PreHook>)
        .collect();
    let stack = Stack::new(
        OperationKind::Fetch,
        vec![Arc::new(Policy::new(mode, hooks))],
        Arc::new(Answers),
    )
    .unwrap();
    let request = Request::new("GET", "http://ok.test", Headers::default(), None).unwrap();
    let got = match stack.run(Arc::new(Caller::new("t")), Operation::Fetch(request)).await {
        Ok(_) => "allowed".to_owned(),
        Err(refusal) => refusal.message("fetch", "T"),
    };
    assert_eq!(got, expected, "{mode:?} of {sources}");
}

const DENIED: &str = "fetch denied by policy: T";
const DENIED_WHY: &str = "fetch denied by policy (why): T";
const FAILED: &str = "fetch stopped, policy failed (source: broke): T";
const LATE: &str = "fetch stopped, policy failed (source: timed out after 10 ms): T";
const REWROTE: &str = "fetch stopped, policy failed (source answered with a rewrite, which no policy can): T";

#[tokio::test(start_paused = true)]
async fn all_ends_at_the_first_that_does_not_say_yes() {
    for (sources, expected) in [
        ("", "allowed"),
        ("y", "allowed"),
        ("ys", "allowed"),
        ("ny", DENIED),
        ("yNn", DENIED_WHY),
        ("a", DENIED),
        ("ye", FAILED),
        ("ney", DENIED),
        ("r", REWROTE),
        ("h", LATE),
    ] {
        check(Mode::All, sources, expected).await;
    }
}

#[tokio::test(start_paused = true)]
async fn any_ends_at_the_first_yes() {
    for (sources, expected) in [
        ("", DENIED),
        ("ny", "allowed"),
        ("ey", "allowed"),
        ("hy", "allowed"),
        ("nN", DENIED),
        ("Nn", DENIED_WHY),
        ("aa", DENIED),
        ("ne", FAILED),
        ("en", FAILED),
        ("r", REWROTE),
    ] {
        check(Mode::Any, sources, expected).await;
    }
}
