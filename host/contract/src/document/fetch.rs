//! The documents of `fetch`.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use url::Url;

use super::{Bodies, held, required, string};
use crate::{
    call::Call,
    error::Error,
    fetch::{Request, Response},
    headers::Headers,
    json::{Number, Value},
    schema::{Access, FETCH, Field},
    verdict::Side,
};

pub(super) fn input(call: &Call, request: &Request, bodies: Bodies) -> Value {
    let mut members = vec![
        ("operation", Value::string(call.kind().name())),
        ("url", Value::string(request.url().as_str())),
        ("method", Value::string(request.method())),
        ("headers", headers_document(request.headers())),
        ("url_parsed", url_parsed(request.url())),
    ];
    if bodies == Bodies::Given {
        members.push((
            "body",
            request
                .body()
                .map_or(Value::Null, |body| Value::String(BASE64.encode(body))),
        ));
        members.push(("bodyEncoding", Value::string("base64")));
    }
    let mcp_headers = call
        .caller()
        .mcp_headers
        .iter()
        .map(|(name, value)| (name.clone(), Value::string(value)));
    members.push(("mcp_headers", Value::Object(mcp_headers.collect())));
    members.push(("claims", call.caller().claims.clone().unwrap_or(Value::Null)));
    Value::Object(
        members
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect(),
    )
}

pub(super) fn output(response: &Response) -> Value {
    Value::object([
        ("status", Value::number(response.status())),
        ("statusText", Value::string(response.status_text())),
        ("url", Value::string(response.url().as_str())),
        ("headers", headers_document(response.headers())),
        ("body", Value::String(BASE64.encode(response.body()))),
        ("bodyEncoding", Value::string("base64")),
        ("redirected", Value::Bool(response.redirected())),
    ])
}

pub(super) fn read_input(
    call: &Call,
    received: &Request,
    bodies: Bodies,
    replacement: &Value,
) -> Result<Request, Error> {
    let side = Side::Input;
    let document = input(call, received, bodies);
    let url = replacement.get("url").and_then(Value::as_str);
    let recomputed = |_: &str| Some(url_parsed(&Url::parse(url?).ok()?));
    held(side, FETCH.input, &document, recomputed, replacement)?;

    let url = string(side, "url", required(side, replacement, "url")?)?;
    let method = string(side, "method", required(side, replacement, "method")?)?;
    let headers = required(side, replacement, "headers")?;
    let body = match bodies {
        Bodies::Withheld => received.body().cloned(),
        Bodies::Given => match required(side, replacement, "body")? {
            Value::Null => None,
            body => Some(body_bytes(side, body, received.body())?),
        },
    };
    let headers = read_headers(side, headers, received.headers())?;
    Request::new(method, url, headers, body)
}

pub(super) fn read_replaced_output(received: &Response, replacement: &Value) -> Result<Response, Error> {
    held(Side::Output, FETCH.output, &output(received), |_| None, replacement)?;
    read_answer(received, replacement)
}

pub(super) fn read_output(request: &Request, answer: &Value) -> Result<Response, Error> {
    let side = Side::Output;
    // A synthetic answer is free in every field, but its form is that of a real one.
    let url = answer
        .get("url")
        .map_or(Ok(request.url().as_str()), |url| string(side, "url", url))?;
    let blank = Response::new(200, url)?;
    let free: Vec<Field> = FETCH
        .output
        .iter()
        .map(|field| Field {
            access: Access::Rewritable,
            ..*field
        })
        .collect();
    held(side, &free, &output(&blank), |_| None, answer)?;
    match answer.get("redirected") {
        None | Some(Value::Bool(false)) => read_answer(&blank, answer),
        Some(Value::Bool(true)) => read_answer(&blank.with_redirected(true), answer),
        Some(other) => Err(Error::hook(format!(
            "output.redirected is {}, not a boolean",
            other.type_name()
        ))),
    }
}

/// The answer that a whole output document describes; what only the host sets comes from
/// `base`.
fn read_answer(base: &Response, document: &Value) -> Result<Response, Error> {
    let side = Side::Output;
    let status = match required(side, document, "status")? {
        Value::Number(number) => number.as_u64().ok_or_else(|| not_a_status(number))?,
        other => {
            return Err(Error::hook(format!(
                "output.status is {}, not a number",
                other.type_name()
            )));
        }
    };
    if required(side, document, "bodyEncoding")?.as_str() != Some("base64") {
        return Err(Error::hook(
            "output.bodyEncoding is not \"base64\", the only encoding there is",
        ));
    }
    let body = body_bytes(side, required(side, document, "body")?, Some(base.body()))?;
    let headers = read_headers(side, required(side, document, "headers")?, base.headers())?;
    let status_text = document
        .get("statusText")
        .map_or(Ok(""), |text| string(side, "statusText", text))?;
    base.with_status(status)?
        .with_status_text(status_text)?
        .with_headers(headers)
        .with_body(body)
}

fn not_a_status(number: &Number) -> Error {
    let shown: String = number.as_str().chars().take(40).collect();
    Error::hook(format!("output.status is {shown}, not a whole number from 200 to 599"))
}

/// The parts of a URL, for policies that must not parse one themselves.
fn url_parsed(url: &Url) -> Value {
    Value::object([
        ("scheme", Value::string(url.scheme())),
        ("host", Value::string(url.host_str().unwrap_or_default())),
        ("port", url.port().map_or(Value::Null, Value::number)),
        ("path", Value::string(url.path())),
        ("query", Value::string_or_null(url.query())),
    ])
}

/// Header fields as an object: a repeated name joined with `, `, `set-cookie` as an array.
fn headers_document(headers: &Headers) -> Value {
    let mut members: Vec<(String, Value)> = Vec::new();
    for (name, value) in headers.iter() {
        let earlier = members.iter_mut().find(|(n, _)| n == name).map(|(_, value)| value);
        match earlier {
            Some(Value::Array(cookies)) => cookies.push(Value::string(value)),
            Some(Value::String(joined)) => {
                joined.push_str(", ");
                joined.push_str(value);
            }
            _ if name == "set-cookie" => members.push((name.into(), Value::Array(vec![Value::string(value)]))),
            _ => members.push((name.into(), Value::string(value))),
        }
    }
    Value::Object(members)
}

/// Header fields out of an object. A name whose value is what the hook received keeps its
/// fields as they were, repetition and all.
fn read_headers(side: Side, document: &Value, received: &Headers) -> Result<Headers, Error> {
    let Value::Object(members) = document else {
        return Err(Error::hook(format!(
            "{}.headers is {}, not an object",
            side.key(),
            document.type_name()
        )));
    };
    let before = headers_document(received);
    if *document == before {
        return Ok(received.clone());
    }
    let mut headers = Headers::default();
    let mut seen = std::collections::HashSet::new();
    for (written, value) in members {
        let name = written.to_ascii_lowercase();
        if !seen.insert(name.clone()) {
            let shown: String = name.chars().take(80).collect();
            return Err(Error::hook(format!(
                "{}.headers has two spellings of {shown:?}",
                side.key()
            )));
        }
        match value {
            value if before.get(&name) == Some(value) => {
                for value in received.get_all(&name) {
                    headers.append(&name, value)?;
                }
            }
            Value::String(value) => headers.append(&name, value)?,
            Value::Array(cookies) if name == "set-cookie" => {
                for cookie in cookies {
                    headers.append(&name, string(side, "headers.set-cookie", cookie)?)?;
                }
            }
            other => {
                let shown: String = name.chars().take(80).collect();
                let what = other.type_name();
                return Err(Error::hook(format!(
                    "{}.headers.{shown} is {what}, not a string",
                    side.key()
                )));
            }
        }
    }
    Ok(headers)
}

/// Body bytes out of base64; the very bytes of `received` where the text is unchanged.
fn body_bytes(side: Side, document: &Value, received: Option<&Bytes>) -> Result<Bytes, Error> {
    let text = string(side, "body", document)?;
    let bytes = BASE64
        .decode(text)
        .map_err(|_| Error::hook(format!("{}.body is not valid base64", side.key())))?;
    Ok(match received {
        Some(received) if *received == bytes => received.clone(),
        _ => bytes.into(),
    })
}
