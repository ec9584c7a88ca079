//! The pre hook: `x-case`.

use crate::Vectors;
use crate::bindings::exports::seam::hooks::fetch_pre::{Context, Guest, Request, Rewrite, Verdict};
use crate::commands::Commands;
use crate::request::{REWRITES, placeholders, rewrite};

const WORDS: [&str; 6] = ["abstain", "allow", "deny", "fail", "trap", "spin"];

impl Guest for Vectors {
    fn pre(_cx: &Context, input: &Request) -> Result<Verdict, String> {
        let known = [&WORDS[..], &REWRITES[..]].concat();
        let commands = Commands::read(&input.header("x-case"), &known, &placeholders(input))?;
        commands.misbehave()?;
        if let Some(reason) = commands.denial() {
            return Ok(Verdict::Deny(reason));
        }
        if commands.has("abstain") {
            return Ok(Verdict::Abstain);
        }
        let reason = commands.allow_reason();
        Ok(match rewrite(input, &commands)? {
            Some(input) => Verdict::Rewrite(Rewrite { input, reason }),
            None if commands.has("allow") => Verdict::Allow(reason),
            None => Verdict::Abstain,
        })
    }
}
