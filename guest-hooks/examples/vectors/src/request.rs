//! What the roles share: the placeholders of a request and its rewrites.

use crate::bindings::seam::hooks::fetch::Request;
use crate::commands::Commands;

/// The rewrites of a request, as the command words a role has to know.
pub const REWRITES: [&str; 3] = ["url", "path+", "method"];

/// Names and values of the placeholders.
pub fn placeholders(request: &Request) -> Vec<(&'static str, String)> {
    vec![
        ("method", request.method()),
        ("scheme", request.scheme()),
        ("host", request.host()),
        ("port", request.port().map(|port| port.to_string()).unwrap_or_default()),
        ("path", request.path()),
        ("query", request.query().unwrap_or_default()),
    ]
}

/// The request after every rewrite that stands in `commands`; `None` where none does.
pub fn rewrite(request: &Request, commands: &Commands) -> Result<Option<Request>, String> {
    let mut rewritten: Option<Request> = None;
    let url = match (commands.argument("url"), commands.argument("path+")) {
        (Some(_), Some(_)) => return Err("url and path+ stand side by side".to_owned()),
        (Some(url), None) => Some(url.to_owned()),
        (None, Some(suffix)) => Some(with_suffix(request, suffix)),
        (None, None) => None,
    };
    if let Some(url) = url {
        rewritten = Some(request.with_url(&url)?);
    }
    if let Some(method) = commands.argument("method") {
        rewritten = Some(rewritten.as_ref().unwrap_or(request).with_method(method)?);
    }
    for header in commands.remove() {
        rewritten = Some(rewritten.as_ref().unwrap_or(request).without_header(header));
    }
    for (header, value) in commands.set() {
        rewritten = Some(rewritten.as_ref().unwrap_or(request).with_header(header, value)?);
    }
    Ok(rewritten)
}

fn with_suffix(request: &Request, suffix: &str) -> String {
    let port = request.port().map(|port| format!(":{port}")).unwrap_or_default();
    let query = request.query().map(|query| format!("?{query}")).unwrap_or_default();
    let (scheme, host, path) = (request.scheme(), request.host(), request.path());
    format!("{scheme}://{host}{port}{path}{suffix}{query}")
}
