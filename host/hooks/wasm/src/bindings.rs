//! Generated from `wit/`: the host's view of the contract. Nothing is written by hand here.
//!
//! Only `next.run` waits for anything, so only it is asynchronous; a getter is an ordinary
//! call. Every import may end the guest (`trappable`), which is how limits are enforced.

#![allow(missing_docs)]

wasmtime::component::bindgen!({
    path: "../../../wit",
    world: "host",
    imports: {
        "seam:hooks/fetch-next.[method]next.run": async | trappable,
        "seam:hooks/document-next.[method]next.run": async | trappable,
        default: trappable,
    },
    exports: { default: async },
    with: {
        "seam:hooks/bodies.body": crate::values::Body,
        "seam:hooks/call.context": crate::values::Context,
        "seam:hooks/call.failure": seam_contract::Refusal,
        "seam:hooks/document-next.next": crate::values::DocumentNext,
        "seam:hooks/fetch-next.next": crate::values::FetchNext,
        "seam:hooks/fetch.request": crate::values::Request,
        "seam:hooks/fetch.response": crate::values::Response,
    },
    require_store_data_send: true,
});
