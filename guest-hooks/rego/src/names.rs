//! Names that nothing answers to: functions nobody defines, variables nobody binds.
//!
//! The engine finds most of them only when it gets there, which ends that evaluation
//! as a failure. A policy with a typing error shall not be loaded in the first place.
//! A name that is used in a rule's body counts as bound there: the engine checks those.

use std::collections::BTreeSet;

use regorus::Engine;
use regorus::unstable::{BUILTINS, Expr, Import, Literal, Module, Query, Rule, RuleHead, Span};

use crate::message::Message;
use crate::rules::{head_of, package_of, path_of};

/// Checks every rule of every file.
pub fn check(engine: &mut Engine) -> Result<(), Message> {
    let modules = engine.get_modules();
    let functions: BTreeSet<String> = modules
        .iter()
        .flat_map(|module| module.policy.iter().map(|rule| (package_of(module), rule)))
        .map(|(package, rule)| format!("{package}.{}", path_of(head_of(rule))))
        .collect();
    for module in modules {
        let package = package_of(module);
        let siblings = modules.iter().filter(|other| package_of(other) == package);
        let known: BTreeSet<String> = siblings
            .flat_map(|module| &module.policy)
            .map(|rule| first(&path_of(head_of(rule))).to_owned())
            .chain(module.imports.iter().filter_map(alias))
            .chain(["input", "data", "_"].map(str::to_owned))
            .collect();
        for rule in &module.policy {
            check_rule(rule, module, &package, &functions, &known)?;
        }
    }
    Ok(())
}

fn check_rule(
    rule: &Rule,
    module: &Module,
    package: &str,
    functions: &BTreeSet<String>,
    known: &BTreeSet<String>,
) -> Result<(), Message> {
    let mut head = Names::default();
    let mut body = Names::default();
    match rule {
        Rule::Spec {
            head: rule_head,
            bodies,
            ..
        } => {
            let (reference, key, arguments, assign) = match rule_head {
                RuleHead::Compr { refr, assign, .. } => (refr, None, &[][..], assign.as_ref()),
                RuleHead::Set { refr, key, .. } => (refr, key.as_ref(), &[][..], None),
                RuleHead::Func { refr, args, assign, .. } => (refr, None, &args[..], assign.as_ref()),
            };
            indices(reference).for_each(|index| head.visit(index));
            key.into_iter()
                .chain(assign.map(|assign| &assign.value))
                .for_each(|it| head.visit(it));
            arguments.iter().for_each(|argument| body.visit(argument));
            for part in bodies {
                part.assign.iter().for_each(|assign| head.visit(&assign.value));
                body.visit_query(&part.query);
            }
        }
        Rule::Default { value, .. } => head.visit(value),
    }
    for (path, span) in head.calls.iter().chain(&body.calls) {
        if !is_function(path, module, package, functions) {
            return Err(Message::of(span.error(&format!("there is no function {path}"))));
        }
    }
    let bound: BTreeSet<&str> = [&body.variables, &body.bound, &head.bound]
        .into_iter()
        .flatten()
        .map(|it| it.text())
        .collect();
    match head
        .variables
        .iter()
        .find(|variable| !bound.contains(variable.text()) && !known.contains(variable.text()))
    {
        Some(variable) => Err(Message::of(
            variable.error(&format!("nothing binds {}", variable.text())),
        )),
        None => Ok(()),
    }
}

fn is_function(path: &str, module: &Module, package: &str, functions: &BTreeSet<String>) -> bool {
    let imported = || {
        let import = module
            .imports
            .iter()
            .find(|import| alias(import).as_deref() == Some(first(path)))?;
        Some(format!("{}{}", path_of(&import.refr), path.strip_prefix(first(path))?))
    };
    path == "print"
        || BUILTINS.contains_key(path)
        || functions.contains(path)
        || functions.contains(&format!("{package}.{path}"))
        || imported().is_some_and(|path| functions.contains(&path))
}

fn alias(import: &Import) -> Option<String> {
    match &import.r#as {
        Some(name) => Some(name.text().to_owned()),
        None => path_of(&import.refr).rsplit('.').next().map(str::to_owned),
    }
}

fn first(path: &str) -> &str {
    path.split('.').next().unwrap_or(path)
}

/// The expressions in the brackets of a rule's head.
fn indices(reference: &Expr) -> impl Iterator<Item = &Expr> {
    let mut rest = Some(reference);
    std::iter::from_fn(move || {
        loop {
            match rest? {
                Expr::RefBrack { refr, index, .. } => {
                    rest = Some(refr);
                    return Some(index.as_ref());
                }
                Expr::RefDot { refr, .. } => rest = Some(refr),
                _ => return None,
            }
        }
    })
}

/// The names in a part of a rule.
#[derive(Default)]
struct Names<'a> {
    /// Variables outside comprehensions.
    variables: Vec<&'a Span>,
    /// Whatever is named inside a comprehension or declared by `some` and `every`.
    bound: Vec<&'a Span>,
    calls: Vec<(String, &'a Span)>,
}

impl<'a> Names<'a> {
    fn visit(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Var { span, .. } => self.variables.push(span),
            Expr::Array { items, .. } | Expr::Set { items, .. } => items.iter().for_each(|item| self.visit(item)),
            Expr::Object { fields, .. } => fields.iter().for_each(|(_, key, value)| self.both(key, value)),
            Expr::ArrayCompr { term, query, .. } | Expr::SetCompr { term, query, .. } => {
                self.comprehension(&[term], query);
            }
            Expr::ObjectCompr { key, value, query, .. } => self.comprehension(&[key, value], query),
            Expr::Call { span, fcn, params, .. } => {
                self.calls.push((path_of(fcn), span));
                params.iter().for_each(|parameter| self.visit(parameter));
            }
            Expr::UnaryExpr { expr, .. } => self.visit(expr),
            Expr::RefDot { refr, .. } => self.visit(refr),
            Expr::RefBrack { refr, index, .. } => self.both(refr, index),
            Expr::BinExpr { lhs, rhs, .. }
            | Expr::BoolExpr { lhs, rhs, .. }
            | Expr::ArithExpr { lhs, rhs, .. }
            | Expr::AssignExpr { lhs, rhs, .. } => self.both(lhs, rhs),
            Expr::Membership {
                key, value, collection, ..
            } => {
                key.iter().for_each(|key| self.visit(key));
                self.both(value, collection);
            }
            Expr::String { .. }
            | Expr::RawString { .. }
            | Expr::Number { .. }
            | Expr::Bool { .. }
            | Expr::Null { .. } => {}
        }
    }

    fn both(&mut self, one: &'a Expr, other: &'a Expr) {
        self.visit(one);
        self.visit(other);
    }

    /// What a comprehension names may be bound inside it: the engine knows better.
    fn comprehension(&mut self, terms: &[&'a Expr], query: &'a Query) {
        let mut inside = Names::default();
        terms.iter().for_each(|term| inside.visit(term));
        inside.visit_query(query);
        self.bound.extend(inside.variables.into_iter().chain(inside.bound));
        self.calls.extend(inside.calls);
    }

    fn visit_query(&mut self, query: &'a Query) {
        for statement in &query.stmts {
            match &statement.literal {
                Literal::SomeVars { vars, .. } => self.bound.extend(vars),
                Literal::SomeIn {
                    key, value, collection, ..
                } => {
                    key.iter().for_each(|key| self.visit(key));
                    self.both(value, collection);
                }
                Literal::Expr { expr, .. } | Literal::NotExpr { expr, .. } => self.visit(expr),
                Literal::Every {
                    key,
                    value,
                    domain,
                    query,
                    ..
                } => {
                    self.bound.extend(key.iter().chain([value]));
                    self.visit(domain);
                    self.visit_query(query);
                }
            }
            statement.with_mods.iter().for_each(|with| self.visit(&with.r#as));
        }
    }
}
