//! The documents as tables: which fields there are and what a hook may do to each.
//!
//! [`document`](crate::document) enforces them, `cargo xtask tidy` holds them against
//! `wit/`, so the two spellings of the contract cannot drift apart.

use crate::operation::OperationKind;

/// What a hook may do to one field of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A hook may replace it, and must keep it.
    Rewritable,
    /// Set by the host. A hook may leave it out of a replacement or return it as it was;
    /// anything else fails the operation.
    Pinned,
    /// Follows from other fields and is recomputed. A hook may leave it out, or return
    /// its old or its recomputed value.
    Derived,
    /// In the document only where the source says `"body": true`; rewritable there.
    Granted,
}

/// One field of a document.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its key in the JSON document.
    pub name: &'static str,
    /// What a hook may do to it.
    pub access: Access,
    /// The getters of the WIT resource that show it, empty where it stands in
    /// `call.context`.
    pub wit: &'static [&'static str],
}

/// The documents of one operation.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// The operation.
    pub kind: OperationKind,
    /// The WIT interface with its values.
    pub interface: &'static str,
    /// The input document; its WIT resource is `input_resource`.
    pub input: &'static [Field],
    /// The name of the resource behind the input document.
    pub input_resource: &'static str,
    /// The output document; its WIT resource is `output_resource`.
    pub output: &'static [Field],
    /// The name of the resource behind the output document.
    pub output_resource: &'static str,
}

const fn field(name: &'static str, access: Access, wit: &'static [&'static str]) -> Field {
    Field { name, access, wit }
}

/// `fetch`.
pub const FETCH: Schema = Schema {
    kind: OperationKind::Fetch,
    interface: "fetch",
    input_resource: "request",
    input: &[
        field("operation", Access::Pinned, &[]),
        field("url", Access::Rewritable, &["url"]),
        field("method", Access::Rewritable, &["method"]),
        field("headers", Access::Rewritable, &["headers", "header"]),
        field(
            "url_parsed",
            Access::Derived,
            &["scheme", "host", "port", "path", "query"],
        ),
        field("body", Access::Granted, &["body"]),
        field("bodyEncoding", Access::Pinned, &[]),
        field("mcp_headers", Access::Pinned, &[]),
        field("claims", Access::Pinned, &[]),
    ],
    output_resource: "response",
    output: &[
        field("status", Access::Rewritable, &["status"]),
        field("statusText", Access::Rewritable, &["status-text"]),
        field("url", Access::Pinned, &["url"]),
        field("headers", Access::Rewritable, &["headers", "header"]),
        field("body", Access::Rewritable, &["body"]),
        field("bodyEncoding", Access::Pinned, &[]),
        field("redirected", Access::Pinned, &["redirected"]),
    ],
};

/// Every operation's documents.
pub const SCHEMAS: [Schema; 1] = [FETCH];

impl OperationKind {
    /// The documents of this operation.
    pub fn schema(self) -> &'static Schema {
        match self {
            Self::Fetch => &FETCH,
        }
    }
}
