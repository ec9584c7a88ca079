//! The post hook: `x-case-post`.

use crate::Vectors;
use crate::bindings::exports::seam::hooks::fetch_post::{Context, Guest, Request, Response, Rewrite, Verdict};
use crate::commands::Commands;
use crate::request::placeholders;

const WORDS: [&str; 8] = ["abstain", "allow", "deny", "fail", "trap", "spin", "status", "body"];

impl Guest for Vectors {
    fn post(_cx: &Context, input: &Request, output: &Response) -> Result<Verdict, String> {
        let mut placeholders = placeholders(input);
        placeholders.push(("status", output.status().to_string()));
        let commands = Commands::read(&input.header("x-case-post"), &WORDS, &placeholders)?;
        commands.misbehave()?;
        if let Some(reason) = commands.denial() {
            return Ok(Verdict::Deny(reason));
        }
        if commands.has("abstain") {
            return Ok(Verdict::Abstain);
        }
        let reason = commands.allow_reason();
        Ok(match rewrite(output, &commands)? {
            Some(output) => Verdict::Rewrite(Rewrite { output, reason }),
            None if commands.has("allow") => Verdict::Allow(reason),
            None => Verdict::Abstain,
        })
    }
}

fn rewrite(answer: &Response, commands: &Commands) -> Result<Option<Response>, String> {
    let mut rewritten: Option<Response> = None;
    if let Some(status) = commands.number("status")? {
        rewritten = Some(answer.with_status(status)?);
    }
    if let Some(body) = commands.argument("body") {
        rewritten = Some(rewritten.as_ref().unwrap_or(answer).with_body(body.as_bytes())?);
    }
    for header in commands.remove() {
        rewritten = Some(rewritten.as_ref().unwrap_or(answer).without_header(header));
    }
    for (header, value) in commands.set() {
        rewritten = Some(rewritten.as_ref().unwrap_or(answer).with_header(header, value)?);
    }
    Ok(rewritten)
}
