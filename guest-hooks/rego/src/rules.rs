//! Which rules the loaded files define.

use std::collections::BTreeSet;

use regorus::Engine;
use regorus::unstable::{Expr, Module, Rule, RuleHead};

use crate::message::Message;

/// Checks that `rule` is defined by one of the files. The error lists what is.
pub fn check_defined(engine: &mut Engine, rule: &str) -> Result<(), Message> {
    let mut defined = BTreeSet::new();
    let mut packages = BTreeSet::new();
    for module in engine.get_modules() {
        let package = package_of(module);
        for head in module.policy.iter().filter_map(|rule| value_rule(rule)) {
            defined.insert(format!("{package}.{}", path_of(head)));
        }
        packages.insert(package);
    }
    if defined.contains(rule) {
        return Ok(());
    }
    let in_package = rule
        .rsplit_once('.')
        .map(|(package, _)| format!("{package}."))
        .unwrap_or_default();
    let nearby: Vec<&str> = defined
        .iter()
        .map(String::as_str)
        .filter(|name| name.starts_with(&in_package))
        .collect();
    let hint = if nearby.is_empty() {
        format!("packages found: {}", list(packages.iter().map(String::as_str)))
    } else {
        format!("defined there: {}", list(nearby.into_iter()))
    };
    Err(Message::new(format!("rule {rule} is not defined; {hint}")))
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

/// The package of a file, from `data` on.
pub fn package_of(module: &Module) -> String {
    format!("data.{}", path_of(&module.package.refr))
}

/// The name of a rule or a function, as a reference.
pub fn head_of(rule: &Rule) -> &Expr {
    match rule {
        Rule::Spec {
            head: RuleHead::Compr { refr, .. } | RuleHead::Set { refr, .. } | RuleHead::Func { refr, .. },
            ..
        }
        | Rule::Default { refr, .. } => refr,
    }
}

/// The head of a rule that has a value by itself; a function has none.
fn value_rule(rule: &Rule) -> Option<&Expr> {
    match rule {
        Rule::Spec {
            head: RuleHead::Compr { refr, .. } | RuleHead::Set { refr, .. },
            ..
        } => Some(refr.as_ref()),
        Rule::Default { refr, args, .. } if args.is_empty() => Some(refr.as_ref()),
        Rule::Spec { .. } | Rule::Default { .. } => None,
    }
}

/// The constant part of a reference: `a.b` of `a.b`, `a["b"]` and `a.b[x]`.
pub fn path_of(reference: &Expr) -> String {
    let mut names = Vec::new();
    collect(reference, &mut names);
    names.join(".")
}

fn collect(reference: &Expr, names: &mut Vec<String>) {
    match reference {
        Expr::Var { span, .. } => names.push(span.text().to_owned()),
        Expr::RefDot { refr, field, .. } => {
            collect(refr, names);
            names.push(field.0.text().to_owned());
        }
        Expr::RefBrack { refr, index, .. } => {
            collect(refr, names);
            if let Expr::String { value, .. } = index.as_ref() {
                names.extend(value.as_string().map(|name| name.to_string()));
            }
        }
        _ => {}
    }
}
