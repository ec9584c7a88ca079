//! The empty layer: hands the request down and the answer up. What a layer costs when
//! it does nothing.

wit_bindgen::generate!({
    path: "../../../wit",
    world: "fetch-layer-hook",
    generate_all,
});

use exports::seam::hooks::fetch_layer::{Context, Guest, Next, Refusal, Request, Response};

struct Pass;

impl Guest for Pass {
    fn handle(_cx: &Context, input: &Request, next: &Next) -> Result<Response, Refusal> {
        next.run(input).map_err(Refusal::Rethrow)
    }
}

export!(Pass);
