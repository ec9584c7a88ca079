//! A small page that fits a small table, and every way to make them drift.

use seam_contract::OperationKind;

use super::*;

const PAGE: &str = "package seam:hooks@0.1.0;
/// The values.
@since(version = 0.1.0)
interface fetch {
    /// A request.
    @since(version = 0.1.0)
    resource request {
        /// Where to.
        @since(version = 0.1.0)
        url: func() -> string;
        /// Elsewhere.
        @since(version = 0.1.0)
        with-url: func(url: string) -> request;
        /// Derived.
        @since(version = 0.1.0)
        host: func() -> string;
    }
    /// An answer.
    @since(version = 0.1.0)
    resource response {
        /// The status.
        @since(version = 0.1.0)
        status: func() -> u16;
    }
}
/// A role.
@since(version = 0.1.0)
interface fetch-pre {
    /// Judges.
    @since(version = 0.1.0)
    pre: func() -> bool;
}
/// Its world.
@since(version = 0.1.0)
world fetch-pre-hook { import fetch; export fetch-pre; }
/// Everything.
@since(version = 0.1.0)
world host { import fetch; export fetch-pre; }
";

const fn field(name: &'static str, access: Access, wit: &'static [&'static str]) -> Field {
    Field { name, access, wit }
}

const SCHEMA: Schema = Schema {
    kind: OperationKind::Fetch,
    interface: "fetch",
    input_resource: "request",
    input: &[
        field("url", Access::Rewritable, &["url"]),
        field("url_parsed", Access::Derived, &["host"]),
        field("claims", Access::Pinned, &[]),
    ],
    output_resource: "response",
    output: &[field("status", Access::Pinned, &["status"])],
};

fn found(page: &str) -> Vec<String> {
    let violations = against(&Tree::of(&[("wit/page.wit", page)]), &[SCHEMA]).unwrap();
    violations
        .iter()
        .map(|it| format!("{}: {}", it.place, it.what))
        .collect()
}

/// The page with one text replaced breaks with one message.
fn breaks(old: &str, new: &str, expected: &str) {
    assert_eq!(PAGE.matches(old).count(), 1, "{old} must stand in the page once");
    let found = found(&PAGE.replace(old, new));
    assert!(
        found.iter().any(|it| it.contains(expected)),
        "{expected} not in {found:?}"
    );
}

#[test]
fn a_page_that_fits_has_no_violations() {
    assert_eq!(found(PAGE), [""; 0]);
}

#[test]
fn fields_that_drift_are_found_on_both_sides() {
    breaks(
        "        host: func() -> string;",
        "        hostname: func() -> string;",
        "no getter host",
    );
    breaks(
        "        host: func() -> string;",
        "        hostname: func() -> string;",
        "request.hostname belongs to no",
    );
    let other = Schema {
        interface: "fetched",
        ..SCHEMA
    };
    let violations = against(&Tree::of(&[("wit/page.wit", PAGE)]), &[other]).unwrap();
    assert_eq!(
        violations[0].what,
        "there is no interface fetched, which the Rust contract names"
    );
}

#[test]
fn rewrites_that_drift_are_found_on_both_sides() {
    breaks(
        "with-url: func(url: string)",
        "with-path: func(url: string)",
        "request has no with-url",
    );
    breaks(
        "with-url: func(url: string)",
        "with-host: func(url: string)",
        "request.with-host rewrites url_parsed",
    );
    breaks(
        "        status: func() -> u16;",
        "        status: func() -> u16;\n/// No.\n@since(version = 0.1.0)\nwith-status: func() -> response;",
        "wit/page.wit:26:1: response.with-status rewrites status",
    );
}

#[test]
fn roles_and_worlds_belong_together() {
    breaks(
        "world fetch-pre-hook {",
        "world fetch-before-hook {",
        "no world fetch-pre-hook",
    );
    breaks(
        "world host { import fetch; export fetch-pre; }",
        "world host { import fetch; }",
        "no fetch-pre",
    );
    breaks("world host {", "world all {", "there is no world host");
}

#[test]
fn what_is_not_documented_is_found_with_its_line() {
    breaks(
        "        /// The status.\n",
        "",
        "fetch.[method]response.status is not documented",
    );
    breaks(
        "/// Everything.\n@since(version = 0.1.0)\n",
        "/// Everything.\n",
        "wit/page.wit:37",
    );
    breaks(
        "/// Everything.\n@since(version = 0.1.0)\n",
        "/// Everything.\n",
        "world host has no @since",
    );
}
