//! WIT drift: `wit/` and the tables of the Rust contract name the same fields and the
//! same rewrites, every role has its world, and every item of the page is documented.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use seam_contract::schema::{Access, Field, SCHEMAS, Schema};
use wit_parser::{
    Docs, Function, Interface, Resolve, SourceMap, Span, Stability, TypeDef, TypeDefKind, TypeOwner, World, WorldItem,
};

use super::Violation;
use super::tree::Tree;

/// The world with every interface and every role.
const EVERYTHING: &str = "host";

/// How the small world of a role is named after its interface.
const ROLE_WORLD: &str = "-hook";

/// Checks the package under wit/ against the contract's tables.
pub fn check(tree: &Tree) -> Result<Vec<Violation>> {
    against(tree, &SCHEMAS)
}

fn against(tree: &Tree, schemas: &[Schema]) -> Result<Vec<Violation>> {
    let page = Page { resolve: parse(tree)? };
    let mut violations = Vec::new();
    for schema in schemas {
        page.compare(schema, &mut violations);
    }
    page.check_worlds(&mut violations);
    page.check_docs(&mut violations);
    Ok(violations)
}

fn parse(tree: &Tree) -> Result<Resolve> {
    let mut sources = SourceMap::default();
    for file in tree.with_extension("wit").filter(|file| file.is_under("wit")) {
        sources.push_str(&file.path, file.text.clone());
    }
    let package = sources
        .parse()
        .map_err(|(_, error)| error)
        .context("wit/ does not parse")?;
    let mut resolve = Resolve {
        all_features: true,
        ..Resolve::default()
    };
    resolve.push_group(package).context("wit/ does not resolve")?;
    Ok(resolve)
}

struct Page {
    resolve: Resolve,
}

impl Page {
    /// Compares both documents of one operation with their resources.
    fn compare(&self, schema: &Schema, violations: &mut Vec<Violation>) {
        let found = self
            .resolve
            .interfaces
            .iter()
            .find(|(_, it)| it.name.as_deref() == Some(schema.interface));
        let Some((_, interface)) = found else {
            violations.push(Violation {
                place: "wit".to_owned(),
                what: format!(
                    "there is no interface {}, which the Rust contract names",
                    schema.interface
                ),
                remedy: "write it, or take the operation out of host/contract/src/schema.rs",
            });
            return;
        };
        for (resource, fields) in [
            (schema.input_resource, schema.input),
            (schema.output_resource, schema.output),
        ] {
            self.compare_resource(interface, resource, fields, violations);
        }
    }

    fn compare_resource(
        &self,
        interface: &Interface,
        resource: &str,
        fields: &[Field],
        violations: &mut Vec<Violation>,
    ) {
        let mut drift = |span: Span, what: String| {
            violations.push(Violation {
                place: self.place(span),
                what,
                remedy: "make wit/ and host/contract/src/schema.rs say the same",
            });
        };
        let prefix = format!("[method]{resource}.");
        let methods: Vec<(&str, &Function)> = interface
            .functions
            .iter()
            .filter_map(|(name, function)| Some((name.strip_prefix(&prefix)?, function)))
            .collect();
        let names: BTreeSet<&str> = methods.iter().map(|(name, _)| *name).collect();

        for field in fields {
            for getter in field.wit.iter().filter(|getter| !names.contains(**getter)) {
                drift(
                    interface.span,
                    format!(
                        "{resource} has no getter {getter}, which shows the field {}",
                        field.name
                    ),
                );
            }
            let rewritable = matches!(field.access, Access::Rewritable | Access::Granted);
            let setter = field.wit.first().map(|getter| format!("with-{getter}"));
            if let Some(setter) = setter.filter(|setter| rewritable && !names.contains(setter.as_str())) {
                drift(
                    interface.span,
                    format!("{resource} has no {setter}, but a hook may rewrite {}", field.name),
                );
            }
        }
        for (name, function) in methods {
            let rewritten = name.strip_prefix("with-").or_else(|| name.strip_prefix("without-"));
            let shown = rewritten.unwrap_or(name);
            match fields.iter().find(|field| field.wit.contains(&shown)) {
                None => drift(
                    function.span,
                    format!("{resource}.{name} belongs to no field of the Rust contract"),
                ),
                Some(field) if rewritten.is_some() && matches!(field.access, Access::Pinned | Access::Derived) => {
                    drift(
                        function.span,
                        format!("{resource}.{name} rewrites {}, which no hook may", field.name),
                    );
                }
                Some(_) => {}
            }
        }
    }

    /// Every exported interface of the world of everything is a role with a small world
    /// that exports it and nothing else; every other interface is imported there.
    fn check_worlds(&self, violations: &mut Vec<Violation>) {
        let world = |name: &str| {
            self.resolve
                .worlds
                .iter()
                .map(|(_, world)| world)
                .find(|world| world.name == name)
        };
        let Some(everything) = world(EVERYTHING) else {
            violations.push(Violation {
                place: "wit".to_owned(),
                what: format!("there is no world {EVERYTHING}"),
                remedy: "the host links against it: give it every interface and every role",
            });
            return;
        };
        let roles = self.exports(everything);
        let imported = self.imports(everything);
        for (_, interface) in self.resolve.interfaces.iter() {
            let name = interface.name.clone().unwrap_or_default();
            if !roles.contains(&name) && !imported.contains(&name) {
                violations.push(Violation {
                    place: self.place(interface.span),
                    what: format!("the world {EVERYTHING} has no {name}"),
                    remedy: "import it there, or export it if it is a role",
                });
            }
        }
        for role in roles {
            let small = world(&format!("{role}{ROLE_WORLD}"));
            if small.is_none_or(|small| self.exports(small) != BTreeSet::from([role.clone()])) {
                violations.push(Violation {
                    place: self.place(everything.span),
                    what: format!("no world {role}{ROLE_WORLD} exports {role} and nothing else"),
                    remedy: "give each role one small world",
                });
            }
        }
    }

    fn exports(&self, world: &World) -> BTreeSet<String> {
        self.named(world.exports.values())
    }

    fn imports(&self, world: &World) -> BTreeSet<String> {
        self.named(world.imports.values())
    }

    fn named<'a>(&self, items: impl Iterator<Item = &'a WorldItem>) -> BTreeSet<String> {
        items
            .filter_map(|item| match item {
                WorldItem::Interface { id, .. } => self.resolve.interfaces[*id].name.clone(),
                WorldItem::Function(_) | WorldItem::Type { .. } => None,
            })
            .collect()
    }

    fn check_docs(&self, violations: &mut Vec<Violation>) {
        for (_, world) in self.resolve.worlds.iter() {
            self.documented(
                &format!("world {}", world.name),
                &world.docs,
                Some(&world.stability),
                world.span,
                violations,
            );
        }
        for (_, interface) in self.resolve.interfaces.iter() {
            let name = interface.name.as_deref().unwrap_or("without a name");
            let what = format!("interface {name}");
            self.documented(
                &what,
                &interface.docs,
                Some(&interface.stability),
                interface.span,
                violations,
            );
            for function in interface.functions.values() {
                let what = format!("{name}.{}", function.name);
                self.documented(
                    &what,
                    &function.docs,
                    Some(&function.stability),
                    function.span,
                    violations,
                );
            }
        }
        for (_, definition) in self.resolve.types.iter() {
            self.check_type(definition, violations);
        }
    }

    fn check_type(&self, definition: &TypeDef, violations: &mut Vec<Violation>) {
        // A `use` is an alias without a page of its own.
        let (Some(name), TypeOwner::Interface(_)) = (&definition.name, definition.owner) else {
            return;
        };
        if matches!(definition.kind, TypeDefKind::Type(wit_parser::Type::Id(_))) {
            return;
        }
        self.documented(
            name,
            &definition.docs,
            Some(&definition.stability),
            definition.span,
            violations,
        );
        let mut part = |part: &str, docs: &Docs, span: Span| {
            self.documented(&format!("{name}.{part}"), docs, None, span, violations);
        };
        match &definition.kind {
            TypeDefKind::Record(record) => record.fields.iter().for_each(|it| part(&it.name, &it.docs, it.span)),
            TypeDefKind::Variant(variant) => variant.cases.iter().for_each(|it| part(&it.name, &it.docs, it.span)),
            TypeDefKind::Enum(cases) => cases.cases.iter().for_each(|it| part(&it.name, &it.docs, it.span)),
            TypeDefKind::Flags(flags) => flags.flags.iter().for_each(|it| part(&it.name, &it.docs, it.span)),
            _ => {}
        }
    }

    fn documented(
        &self,
        what: &str,
        docs: &Docs,
        stability: Option<&Stability>,
        span: Span,
        violations: &mut Vec<Violation>,
    ) {
        if docs.contents.as_deref().is_none_or(|text| text.trim().is_empty()) {
            violations.push(Violation {
                place: self.place(span),
                what: format!("{what} is not documented"),
                remedy: "say what it is in a `///` comment",
            });
        }
        if stability == Some(&Stability::Unknown) {
            violations.push(Violation {
                place: self.place(span),
                what: format!("{what} has no @since"),
                remedy: "add `@since(version = …)`",
            });
        }
    }

    fn place(&self, span: Span) -> String {
        self.resolve.render_location(span)
    }
}

#[cfg(test)]
mod tests;
