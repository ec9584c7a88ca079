//! Names that nothing answers to: functions nobody defines or that call themselves,
//! variables nobody binds.
//!
//! The engine finds most of them only when it gets there, which ends that evaluation
//! as a failure. A policy with a typing error shall not be loaded in the first place.
//! A name that is used in a rule's body counts as bound there: the engine checks those.

mod visit;

use std::collections::{BTreeMap, BTreeSet};

use regorus::Engine;
use regorus::unstable::{BUILTINS, Expr, Import, Module, Rule, RuleHead, Span};

use crate::message::Message;
use crate::rules::{head_of, package_of, path_of};
use visit::Names;

/// Builtins of the engine that cannot work in a component, and why.
const REFUSED: [(&str, &str); 1] = [("rand.intn", "a hook has no randomness")];

/// Checks every rule of every file.
pub fn check(engine: &mut Engine) -> Result<(), Message> {
    let modules = engine.get_modules();
    let names = |module: &Module| -> Vec<String> {
        let package = package_of(module);
        let rules = module.policy.iter();
        rules
            .map(|rule| format!("{package}.{}", path_of(head_of(rule))))
            .collect()
    };
    let functions: BTreeSet<String> = modules.iter().flat_map(|module| names(module)).collect();
    let mut calls = Calls::new();
    for module in modules {
        let package = package_of(module);
        let siblings = modules.iter().filter(|other| package_of(other) == package);
        let known: BTreeSet<String> = siblings
            .flat_map(|module| &module.policy)
            .map(|rule| first(&path_of(head_of(rule))).to_owned())
            .chain(module.imports.iter().filter_map(alias))
            .chain(["input", "data", "_"].map(str::to_owned))
            .collect();
        let scope = Scope {
            module,
            package,
            functions: &functions,
            known,
        };
        for rule in &module.policy {
            scope.check_rule(rule, &mut calls)?;
        }
    }
    match calls.iter().find(|(name, _)| calls_itself(name, &calls)) {
        Some((name, (span, _))) => Err(Message::of(span.error(&format!("the function {name} calls itself")))),
        None => Ok(()),
    }
}

/// Which functions a function calls, and where it is defined. The engine follows a
/// circle of functions until the stack ends.
type Calls<'a> = BTreeMap<String, (&'a Span, BTreeSet<String>)>;

/// What the rules of one file can name.
struct Scope<'a> {
    module: &'a Module,
    package: String,
    functions: &'a BTreeSet<String>,
    known: BTreeSet<String>,
}

impl Scope<'_> {
    fn check_rule<'a>(&self, rule: &'a Rule, calls: &mut Calls<'a>) -> Result<(), Message> {
        let (head, body) = names_of(rule);
        let mut called = BTreeSet::new();
        for (path, span) in head.calls.iter().chain(&body.calls) {
            match self.function(path) {
                Some(Function::Builtin) => {
                    if let Some((_, why)) = REFUSED.iter().find(|(name, _)| name == path) {
                        return Err(Message::of(span.error(&format!("{path} is refused: {why}"))));
                    }
                }
                Some(Function::Defined(name)) => drop(called.insert(name)),
                None => return Err(Message::of(span.error(&format!("there is no function {path}")))),
            }
        }
        if let Rule::Spec {
            span,
            head: RuleHead::Func { refr, .. },
            ..
        } = rule
        {
            let name = format!("{}.{}", self.package, path_of(refr));
            calls.entry(name).or_insert((span, BTreeSet::new())).1.extend(called);
        }
        let spans = [&body.variables, &body.bound, &head.bound].into_iter().flatten();
        let bound: BTreeSet<&str> = spans.map(|span| span.text()).collect();
        let unbound = |name: &str| !bound.contains(name) && !self.known.contains(name);
        match head.variables.iter().find(|variable| unbound(variable.text())) {
            Some(variable) => Err(Message::of(
                variable.error(&format!("nothing binds {}", variable.text())),
            )),
            None => Ok(()),
        }
    }

    fn function(&self, path: &str) -> Option<Function> {
        let local = format!("{}.{path}", self.package);
        let imported = || {
            let imports = &self.module.imports;
            let import = imports
                .iter()
                .find(|import| alias(import).as_deref() == Some(first(path)))?;
            Some(format!("{}{}", path_of(&import.refr), path.strip_prefix(first(path))?))
        };
        let defined = [Some(path.to_owned()), Some(local), imported()];
        match defined.into_iter().flatten().find(|name| self.functions.contains(name)) {
            Some(name) => Some(Function::Defined(name)),
            None => (path == "print" || BUILTINS.contains_key(path)).then_some(Function::Builtin),
        }
    }
}

/// What a call calls.
enum Function {
    Builtin,
    /// A function of a file, by its whole path.
    Defined(String),
}

/// The names in what a rule says of its value, and those in its conditions.
fn names_of(rule: &Rule) -> (Names<'_>, Names<'_>) {
    let (mut head, mut body) = (Names::default(), Names::default());
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
            let value = assign.map(|assign| &assign.value);
            key.into_iter().chain(value).for_each(|part| head.visit(part));
            arguments.iter().for_each(|argument| body.visit(argument));
            for part in bodies {
                part.assign.iter().for_each(|assign| head.visit(&assign.value));
                body.visit_query(&part.query);
            }
        }
        Rule::Default { value, .. } => head.visit(value),
    }
    (head, body)
}

fn calls_itself(name: &str, calls: &Calls<'_>) -> bool {
    let mut seen = BTreeSet::new();
    let mut next: Vec<&str> = vec![name];
    while let Some(caller) = next.pop() {
        for callee in calls.get(caller).into_iter().flat_map(|(_, callees)| callees) {
            if callee == name {
                return true;
            }
            if seen.insert(callee) {
                next.push(callee);
            }
        }
    }
    false
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
