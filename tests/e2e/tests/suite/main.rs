//! The whole product as its users meet it: the shipped binary in a process of its own, real
//! clients, a real server. Case numbers such as F01 are those of the field cases.

mod bodies;
mod clients;
mod fetch;
mod headers;
mod hooks;
mod mcp;
mod refused;
mod scripts;

use anyhow::Result;
use seam_e2e::{Product, Session};
use serde_json::{Value, json};

/// A session with a server that has this configuration of `fetch`.
async fn serve(fetch: Value) -> Result<Session> {
    Session::start(Product::find()?.configured("serve", &json!({ "fetch": fetch }))).await
}

/// A script that fetches each URL and gives, for each, the status or the error.
fn outcomes(urls: &[String]) -> String {
    format!(
        "const seen = [];
         for (const url of {}) {{
           try {{ seen.push(String((await fetch(url)).status)); }}
           catch (error) {{ seen.push(`${{error.name}}: ${{error.message}}`); }}
         }}
         seen",
        json!(urls)
    )
}
