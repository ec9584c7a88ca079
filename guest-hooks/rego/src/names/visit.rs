//! Which names a part of a rule uses.

use regorus::unstable::{Expr, Literal, Query, Span};

use crate::rules::path_of;

/// The names in a part of a rule.
#[derive(Default)]
pub struct Names<'a> {
    /// Variables outside comprehensions.
    pub variables: Vec<&'a Span>,
    /// Whatever is named inside a comprehension or declared by `some` and `every`.
    pub bound: Vec<&'a Span>,
    /// Calls by the path as it is written.
    pub calls: Vec<(String, &'a Span)>,
}

impl<'a> Names<'a> {
    /// Adds the names of an expression.
    pub fn visit(&mut self, expression: &'a Expr) {
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

    /// Adds the names of a query.
    pub fn visit_query(&mut self, query: &'a Query) {
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
