//! The conformance hook: what it does is computed from the request, see `README.md`.

mod commands;
mod layer;
mod post;
mod pre;
mod request;

mod bindings {
    wit_bindgen::generate!({
        path: ["../../../wit", "wit"],
        world: "seam:vectors/vectors",
        generate_all,
    });
}

/// The three roles of one component.
struct Vectors;

bindings::export!(Vectors with_types_in bindings);
