//! What a case expects, made whole, and how it is compared with what was observed.

use anyhow::{Context, Result};
use seam_contract::fetch::{Request, Response};

use crate::{
    case::{Answer, Case, Effect, Got, Outcome, Sent},
    observe::{Message, Observed, answer_message, headers, request, request_message, response},
};

/// The expectations of a case with everything filled in that the case leaves unchanged.
#[derive(Clone, Debug)]
pub struct Expected {
    /// How the operation ends.
    pub outcome: Outcome,
    /// Patterns of the lines on record.
    pub steps: Vec<String>,
    /// Pattern of the script's error.
    pub message: Option<String>,
    /// Every request that takes effect.
    pub sent: Vec<Message>,
    /// The script's answer.
    pub answer: Option<Message>,
}

impl Expected {
    /// Of this case.
    pub fn of(case: &Case) -> Result<Self> {
        let original = request(case)?;
        let expect = &case.expect;
        let mut sent = Vec::new();
        for changes in &expect.sent {
            sent.push(effective(&original, changes).with_context(|| format!("{}: expected request", case.name))?);
        }
        let answer = match &expect.answer {
            None => None,
            Some(changes) => {
                let last = sent.last().unwrap_or(&original);
                Some(
                    answered(case, last, sent.len(), changes)
                        .with_context(|| format!("{}: expected answer", case.name))?,
                )
            }
        };
        Ok(Self {
            outcome: expect.outcome,
            steps: expect.steps.clone(),
            message: expect.message.clone(),
            sent: sent.iter().map(request_message).collect(),
            answer: answer.as_ref().map(answer_message),
        })
    }
}

/// Everything in which a case came out otherwise than expected; empty where nothing did.
/// `hook` is the name of the hook's file, which patterns call `{hook}`.
pub fn differences(expected: &Expected, observed: &Observed, hook: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut differ = |what: &str, expected: String, observed: String| {
        found.push(format!("{what}: expected {expected}, observed {observed}"));
    };
    if expected.outcome != observed.outcome {
        differ(
            "outcome",
            format!("{:?}", expected.outcome),
            format!("{:?}", observed.outcome),
        );
    }
    let (steps, lines) = (&expected.steps, &observed.steps);
    if steps.len() != lines.len() || steps.iter().zip(lines).any(|(step, line)| !matches(step, line, hook)) {
        differ("steps", format!("{steps:?}"), format!("{lines:?}"));
    }
    let same = match (&expected.message, &observed.message) {
        (Some(pattern), Some(message)) => matches(pattern, message, hook),
        (pattern, message) => pattern == message,
    };
    if !same {
        differ(
            "message",
            format!("{:?}", expected.message),
            format!("{:?}", observed.message),
        );
    }
    if expected.sent != observed.sent {
        differ("sent", format!("{:#?}", expected.sent), format!("{:#?}", observed.sent));
    }
    if expected.answer != observed.answer {
        differ(
            "answer",
            format!("{:#?}", expected.answer),
            format!("{:#?}", observed.answer),
        );
    }
    found
}

/// Whether a text is as a pattern has it: `*` stands for at least one character of any
/// kind, `{hook}` for the name of the hook's file, everything else for itself.
pub fn matches(pattern: &str, text: &str, hook: &str) -> bool {
    let pattern = pattern.replace("{hook}", hook);
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        let mut characters = rest.char_indices();
        let Some((_, after_one)) = characters.next().map(|_| ((), characters.as_str())) else {
            return false;
        };
        if pieces.peek().is_none() {
            return after_one.ends_with(piece);
        }
        let Some(at) = after_one.find(piece) else {
            return false;
        };
        rest = &after_one[at + piece.len()..];
    }
    false
}

/// The request that takes effect: the script's, with these changes.
fn effective(original: &Request, changes: &Sent) -> Result<Request> {
    let fields = match &changes.headers {
        Some(fields) => headers(fields)?,
        None => original.headers().clone(),
    };
    let body = changes
        .body
        .clone()
        .map(Into::into)
        .or_else(|| original.body().cloned());
    let method = changes.method.as_deref().unwrap_or(original.method());
    let url = changes.url.as_deref().unwrap_or(original.url().as_str());
    Ok(Request::new(method, url, fields, body)?)
}

/// The script's answer: that of the last effect, with these changes.
fn answered(case: &Case, last: &Request, calls: usize, changes: &Got) -> Result<Response> {
    let effect = case
        .effects
        .get(calls.saturating_sub(1))
        .or(case.effects.last())
        .cloned();
    let mut answer = match effect {
        None => Answer::default(),
        Some(Effect::Answers(answer)) => answer,
        // A hook answers where the effect did not: the case says everything about it.
        Some(Effect::Fails { .. } | Effect::Denies { .. }) => Answer {
            body: String::new(),
            ..Answer::default()
        },
    };
    if calls == 0 {
        answer = Answer {
            body: String::new(),
            ..Answer::default()
        };
    }
    if let Some(status) = changes.status {
        answer.status = status;
    }
    if let Some(text) = &changes.status_text {
        answer.status_text.clone_from(text);
    }
    if let Some(fields) = &changes.headers {
        answer.headers.clone_from(fields);
    }
    if let Some(body) = &changes.body {
        answer.body.clone_from(body);
    }
    let answered = response(last, &answer)?;
    Ok(match &changes.url {
        Some(url) => answered.with_url(url)?,
        None => answered,
    })
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_is_something_and_the_rest_is_exact() {
        for (pattern, text) in [
            ("deny: no GET", "deny: no GET"),
            ("{hook} failed (*)", "a.js failed (x)"),
            ("* b *", "a b c"),
            ("*", "x"),
        ] {
            assert!(matches(pattern, text, "a.js"), "{pattern:?} {text:?}");
        }
        for (pattern, text) in [
            ("deny", "deny: why"),
            ("deny: *", "deny: "),
            ("{hook} failed (*)", "b.js failed (x)"),
            ("*", ""),
            ("* b *", "a b "),
            ("a*c", "ac"),
        ] {
            assert!(!matches(pattern, text, "a.js"), "{pattern:?} {text:?}");
        }
    }
}
