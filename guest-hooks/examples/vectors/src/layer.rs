//! The layer: `x-case-layer`.

use crate::Vectors;
use crate::bindings::exports::seam::hooks::fetch_layer::{Context, Guest, Next, Refusal, Request, Response};
use crate::bindings::seam::hooks::call::Failure;
use crate::commands::Commands;
use crate::request::{REWRITES, placeholders, rewrite};

const WORDS: [&str; 4] = ["deny", "fail", "trap", "spin"];
const ACTIONS: [&str; 6] = ["once", "twice", "never", "fallback", "rethrow", "catch"];

impl Guest for Vectors {
    fn handle(_cx: &Context, input: &Request, next: &Next) -> Result<Response, Refusal> {
        let commands = read(input).map_err(Refusal::Fail)?;
        commands.misbehave().map_err(Refusal::Fail)?;
        if let Some(reason) = commands.denial() {
            return Err(Refusal::Deny(reason));
        }
        let rewritten = rewrite(input, &commands).map_err(Refusal::Fail)?;
        let input = rewritten.as_ref().unwrap_or(input);

        if let Some(status) = commands.number("never").map_err(Refusal::Fail)? {
            return Response::make(status, &input.url()).map_err(Refusal::Fail);
        }
        if commands.has("twice") {
            next.run(input).map_err(Refusal::Rethrow)?;
        }
        let refused = match next.run(input) {
            Ok(answer) => return Ok(answer),
            Err(refused) => refused,
        };
        if let Some(url) = commands.argument("fallback") {
            let other = input.with_url(url).map_err(Refusal::Fail)?;
            return next.run(&other).map_err(Refusal::Rethrow);
        }
        if let Some(status) = commands.number("catch").map_err(Refusal::Fail)? {
            return caught(status, input, &refused).map_err(Refusal::Fail);
        }
        Err(Refusal::Rethrow(refused))
    }
}

fn read(input: &Request) -> Result<Commands, String> {
    let known = [&WORDS[..], &ACTIONS[..], &REWRITES[..]].concat();
    let values = input.header("x-case-layer");
    let commands = Commands::read(&values, &known, &placeholders(input))?;
    if ACTIONS.iter().filter(|action| commands.has(action)).count() > 1 {
        return Err(format!("more than one of {}", ACTIONS.join(", ")));
    }
    Ok(commands)
}

fn caught(status: u16, input: &Request, refused: &Failure) -> Result<Response, String> {
    let (kind, by) = (refused.kind(), refused.by());
    let reason = refused.reason().unwrap_or_default();
    Response::make(status, &input.url())?.with_header("x-caught", &format!("{kind} by {by}: {reason}"))
}
