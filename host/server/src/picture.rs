//! A stack in plain words, place by place: what `seam check` prints.

use std::{fmt, path::PathBuf, time::Duration};

use seam_contract::{
    OperationKind, Role,
    document::Bodies,
    schema::{Access, Field},
};

/// What runs a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// A JavaScript file.
    JavaScript,
    /// A component.
    Component,
    /// A Rego file or directory.
    Rego,
}

/// One operation's stack, outermost place first.
#[derive(Clone, Debug)]
pub struct Picture {
    pub(crate) kind: OperationKind,
    pub(crate) places: Vec<Place>,
}

/// One place of a stack.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) role: Role,
    pub(crate) name: String,
    /// Where it comes from; several for `@policy`, none for the real executor.
    pub(crate) sources: Vec<Origin>,
    /// What it sees and may do.
    pub(crate) sees: String,
}

/// The source behind a place.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) backend: Backend,
    pub(crate) path: PathBuf,
    /// The rule or function, empty for a component.
    pub(crate) rule: String,
    pub(crate) limit: Duration,
    pub(crate) bodies: Bodies,
}

impl Picture {
    /// The operation.
    pub fn kind(&self) -> OperationKind {
        self.kind
    }
}

impl fmt::Display for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.places.len();
        writeln!(
            f,
            "{}: {count} place{}, outermost first",
            self.kind,
            if count == 1 { "" } else { "s" }
        )?;
        let name = self
            .places
            .iter()
            .map(|place| place.name.chars().count())
            .max()
            .unwrap_or_default();
        for (i, place) in self.places.iter().enumerate() {
            writeln!(
                f,
                "  {:>2}  {:name$}  {}: {}",
                i + 1,
                place.name,
                place.role,
                place.sees
            )?;
            for origin in &place.sources {
                writeln!(f, "      {:name$}  {origin}", "")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = &self.rule;
        match self.backend {
            Backend::JavaScript => write!(f, "JavaScript, function {rule}")?,
            Backend::Rego if rule.ends_with(".allow") => write!(f, "Rego, rule {rule}, no answer is a no")?,
            Backend::Rego => write!(f, "Rego, rule {rule}")?,
            Backend::Component => f.write_str("component, a fresh instance each call")?,
        }
        if self.bodies == Bodies::Given {
            f.write_str(", with request bodies")?;
        }
        write!(f, ", at most {} ms: {}", self.limit.as_millis(), self.path.display())
    }
}

/// What a place of this role sees and may do, in plain words.
pub(crate) fn sees(kind: OperationKind, role: Role, bodies: Bodies) -> String {
    let schema = kind.schema();
    let input = rewritable(schema.input, bodies);
    let body = match bodies {
        Bodies::Given => "with",
        Bodies::Withheld => "without",
    };
    match role {
        Role::PreHook => format!("sees the input {body} its body; may deny it or change {input}"),
        Role::PostHook => {
            let output = rewritable(schema.output, Bodies::Given);
            format!("sees the input {body} its body and the whole output; may deny the output or change {output}")
        }
        Role::Layer => format!(
            "sees the input {body} its body and the whole output; may answer itself, run the rest again, deny, and \
             change {input} on the way down and the output on the way up"
        ),
        Role::Policy => format!("sees the input {body} its body, as it would be executed; says yes or no"),
        Role::Executor => {
            format!("sees the input {body} its body; answers in place of the real effect, nothing is sent")
        }
    }
}

fn rewritable(fields: &[Field], bodies: Bodies) -> String {
    let may = |field: &&Field| match field.access {
        Access::Rewritable => true,
        Access::Granted => bodies == Bodies::Given,
        Access::Pinned | Access::Derived => false,
    };
    fields
        .iter()
        .filter(may)
        .map(|field| field.name)
        .collect::<Vec<_>>()
        .join(", ")
}
