//! From JSON to a [`Config`]: every key known, every value in range, every place in order.

use std::time::Duration;

use seam_contract::{document::Bodies, json};
use seam_hook_policy::Mode;

use super::{
    Config, FetchConfig, Form, Given, Kind, MAX_LIMIT_MS, Place, Policies, Source, Terminal, Use,
    file::{self, UrlMistake},
    mistake::Log,
    walk::{Keys, Node, closest, quoted, shown},
};

const OPERATIONS: Keys = Keys {
    accepted: &[("fetch", "")],
    later: &[
        "filesystem",
        "subprocess",
        "mcp_tools",
        "run_js_file",
        "modules",
        "websocket",
    ],
};

const FETCH: Keys = Keys {
    accepted: &[("policies", ""), ("mode", ""), ("pre", ""), ("post", ""), ("stack", "")],
    later: &["network"],
};

const SOURCE: Keys = Keys {
    accepted: &[("url", ""), ("rule", ""), ("timeout_ms", "milliseconds"), ("body", "")],
    later: &["capabilities", "policy_path", "wasi", "instances", "credentials"],
};

const EXECUTE: Keys = Keys {
    accepted: &[("execute", "")],
    later: &[],
};

/// What an entry of a stack may be.
const ENTRIES: &str = "a source, \"@policy\", \"@execute\" or {\"execute\": {source}}";

/// Walks the text. What is out of form is in the log and missing from the result, which
/// then serves only to look for further mistakes.
pub(crate) fn config(given: &Given, log: &Log) -> Config {
    let value = match json::parse(&given.text) {
        Ok(value) => value,
        Err(error) => {
            log.add("", error.message());
            return Config::default();
        }
    };
    let root = Node::root(&value, log);
    let members = root.object(&OPERATIONS);
    let fetch = members.and_then(|members| members.get("fetch"));
    Config {
        fetch: fetch.and_then(|node| fetch_config(&node)),
    }
}

fn fetch_config(node: &Node) -> Option<FetchConfig> {
    let members = node.object(&FETCH)?;
    let list = |key: &str, used_as| members.get(key).map(|node| sources(&node, used_as));
    let policies = list("policies", Use::Policy);
    let mode = match members.get("mode") {
        Some(node) => node
            .word(&[("all", Mode::All), ("any", Mode::Any)])
            .unwrap_or(Mode::All),
        None => Mode::All,
    };
    let listed = members.get("policies").map(|node| node.value());
    let empty = matches!(listed, Some(json::Value::Array(list)) if list.is_empty());
    if members.get("mode").is_some() && listed.is_none() {
        node.mistake_at("mode", "there are no policies to combine; add policies or remove mode");
    } else if mode == Mode::Any && empty {
        node.mistake_at(
            "mode",
            "is any, but the list of policies is empty, so that nothing could ever be allowed",
        );
    }
    let (pre, post) = (list("pre", Use::Pre), list("post", Use::Post));
    let form = match members.get("stack") {
        Some(stack) => {
            for (key, other) in [("pre", &pre), ("post", &post)] {
                if other.is_some() {
                    node.mistake_at(
                        key,
                        "cannot stand beside stack, which replaces it; move its sources into the stack",
                    );
                }
            }
            stack_form(&stack, listed.is_some())?
        }
        None => Form::Chain {
            pre: pre.unwrap_or_default(),
            post: post.unwrap_or_default(),
        },
    };
    Some(FetchConfig {
        policies: policies.map(|sources| Policies { mode, sources }),
        form,
    })
}

fn sources(node: &Node, used_as: Use) -> Vec<Source> {
    let items = node.items("a list of sources").unwrap_or_default();
    items.iter().filter_map(|item| source(item, used_as)).collect()
}

/// One source. `None`, with a mistake, where it cannot be loaded at all.
fn source(node: &Node, used_as: Use) -> Option<Source> {
    let members = node.object(&SOURCE)?;
    let limit = members
        .get("timeout_ms")
        .and_then(|node| node.whole_number("milliseconds", 1..=MAX_LIMIT_MS));
    let bodies = match members.get("body").and_then(|node| node.boolean()) {
        Some(true) => Bodies::Given,
        _ => Bodies::Withheld,
    };
    let Some(url) = members.get("url") else {
        node.mistake("lacks the key url, which says where the hook is");
        return None;
    };
    let named = match file::read(url.string("the URL of a source")?) {
        Ok(named) => named,
        Err(UrlMistake(message)) => {
            url.mistake(message);
            return None;
        }
    };
    let refused = match (named.kind, used_as) {
        (Kind::JavaScript, Use::Policy) => Some(
            "JavaScript cannot be a policy, because policies will see credentials; accepted are Rego and wasm, or move \
             it to pre",
        ),
        (Kind::Rego, Use::Executor) => {
            Some("Rego cannot answer in place of the effect; accepted are JavaScript and wasm")
        }
        _ => None,
    };
    if let Some(message) = refused {
        url.mistake(message);
        return None;
    }
    let rule = members.get("rule").and_then(|node| rule(&node, named.kind));
    Some(Source {
        at: node.path().to_owned(),
        used_as,
        path: named.path,
        kind: named.kind,
        rule,
        limit: limit.map(Duration::from_millis),
        bodies,
    })
}

fn rule(node: &Node, kind: Kind) -> Option<String> {
    let text = node.string("the name of a rule or function")?;
    let (good, expected) = match kind {
        Kind::JavaScript => (is_identifier(text), "the name of a global function, such as pre"),
        Kind::Rego => (
            text.strip_prefix("data.")
                .is_some_and(|rest| rest.split('.').all(is_identifier)),
            "a rule with its package, such as data.mcp.fetch.allow",
        ),
        Kind::Component => (false, "no rule: what a component does is what it exports"),
    };
    if !good {
        node.mistake(format!("is {}, expected {expected}", quoted(text)));
    }
    good.then(|| text.to_owned())
}

fn is_identifier(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
        && text.chars().next().is_some_and(|first| !first.is_numeric())
}

/// A stack, `@policy` put just above the innermost place where it is not placed.
/// `policies` says whether there are any to place.
fn stack_form(node: &Node, policies: bool) -> Option<Form> {
    let items = node.items("a list, outermost first, of sources, \"@policy\" and, last, \"@execute\"")?;
    let mut places = Vec::new();
    let mut terminal: Option<(String, Terminal)> = None;
    let mut policy_at: Option<String> = None;
    for item in &items {
        if let Some((inside, _)) = &terminal {
            item.mistake(format!(
                "stands after {inside}, which is the innermost place; move it before"
            ));
        }
        match entry(item) {
            Some(Entry::Policy) => {
                if let Some(first) = &policy_at {
                    item.mistake(format!("\"@policy\" stands at {first} already; it has one place"));
                } else if !policies {
                    item.mistake("there are no policies to place here; add policies or remove \"@policy\"");
                }
                policy_at = Some(item.path().to_owned());
                places.push(Place::Policy);
            }
            Some(Entry::Source(source)) => places.push(Place::Source(source)),
            Some(Entry::Terminal(found)) => terminal = Some((item.path().to_owned(), found)),
            None => {}
        }
    }
    if policies && policy_at.is_none() {
        places.push(Place::Policy);
    }
    let broken = |item: &&Node| matches!(item.value(), json::Value::Object(members) if members.iter().any(|(key, _)| key == "execute"));
    if terminal.is_none() && items.iter().find(broken).is_none() {
        node.mistake("lacks its innermost place; the last entry is \"@execute\" or {\"execute\": {source}}");
    }
    let (_, terminal) = terminal.unwrap_or((String::new(), Terminal::Execute));
    Some(Form::Stack { places, terminal })
}

enum Entry {
    Policy,
    Source(Source),
    Terminal(Terminal),
}

fn entry(node: &Node) -> Option<Entry> {
    match node.value() {
        json::Value::String(name) => match name.as_str() {
            "@policy" => return Some(Entry::Policy),
            "@execute" => return Some(Entry::Terminal(Terminal::Execute)),
            "@inject" => node.mistake(format!("this version has no @inject yet; accepted are {ENTRIES}")),
            other => {
                let guess = closest(other, &["@policy", "@execute"]);
                let guess = guess.map_or(String::new(), |guess| format!(", did you mean {guess:?}?"));
                node.mistake(format!("is {}{guess}; accepted are {ENTRIES}", shown(node.value())));
            }
        },
        json::Value::Object(members) if members.iter().any(|(key, _)| key == "execute") => {
            let execute = node.object(&EXECUTE)?.get("execute")?;
            return source(&execute, Use::Executor).map(|source| Entry::Terminal(Terminal::Virtual(source)));
        }
        json::Value::Object(_) => return source(node, Use::Layer).map(Entry::Source),
        other => node.mistake(format!("is {}; accepted are {ENTRIES}", shown(other))),
    }
    None
}
