//! Leaves a mark on both sides: `x-seam-layer` with method and host on the request,
//! `x-layer-status` with the status on the answer.

wit_bindgen::generate!({
    path: "../../../wit",
    world: "fetch-layer-hook",
    generate_all,
});

use exports::seam::hooks::fetch_layer::{Context, Guest, Next, Refusal, Request, Response};

struct Stamp;

impl Guest for Stamp {
    fn handle(_cx: &Context, input: &Request, next: &Next) -> Result<Response, Refusal> {
        let mark = format!("{} {}", input.method(), input.host());
        let marked = input.with_header("x-seam-layer", &mark).map_err(Refusal::Fail)?;
        let answer = next.run(&marked).map_err(Refusal::Rethrow)?;
        answer
            .with_header("x-layer-status", &answer.status().to_string())
            .map_err(Refusal::Fail)
    }
}

export!(Stamp);
