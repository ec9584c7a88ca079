//! `unsafe` only in the places that cannot do without, each with its reason.

use anyhow::Result;

use super::Violation;
use super::source::code;
use super::tree::Tree;

/// Where `unsafe` may be: around V8, where wasmtime loads compiled components, and in
/// the allocator of a guest, which can harm nothing outside its instance.
const ALLOWED: [&str; 3] = ["host/isolate", "host/hooks/wasm", "guest-hooks/rego/src/heap.rs"];

/// Checks every Rust file of the project.
pub fn check(tree: &Tree) -> Result<Vec<Violation>> {
    let mut violations = Vec::new();
    for file in tree.with_extension("rs") {
        let allowed = ALLOWED.iter().any(|place| file.path == *place || file.is_under(place));
        let lines: Vec<&str> = file.text.lines().collect();
        for (at, line) in code(&file.text).lines().enumerate() {
            let Some(use_of_it) = unsafe_in(line) else { continue };
            let place = format!("{}:{}", file.path, at + 1);
            if !allowed {
                violations.push(Violation {
                    place,
                    what: "unsafe code outside the places for it".to_owned(),
                    remedy: "find a safe way, or move it into host/isolate",
                });
            } else if use_of_it == Use::Promise && !has_reason(&lines, at) {
                violations.push(Violation {
                    place,
                    what: "unsafe code without a reason".to_owned(),
                    remedy: "say in a `SAFETY:` comment right above why it holds",
                });
            }
        }
    }
    Ok(violations)
}

/// What `unsafe` does in a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// A block or an `impl`: somebody promises that it holds.
    Promise,
    /// A function or its type: the promise is the caller's.
    Demand,
}

/// The keyword's use in the line; the attribute `unsafe(…)` is none.
fn unsafe_in(code: &str) -> Option<Use> {
    let word = |character: char| character.is_alphanumeric() || character == '_';
    code.match_indices("unsafe").find_map(|(at, keyword)| {
        let after = &code[at + keyword.len()..];
        if code[..at].ends_with(word) || after.starts_with(word) || after.starts_with('(') {
            return None;
        }
        let demand = ["fn", "extern", "trait"]
            .iter()
            .any(|next| after.trim_start().starts_with(next));
        Some(if demand { Use::Demand } else { Use::Promise })
    })
}

/// Whether `SAFETY:` stands on the line, or in the comment that ends right above.
fn has_reason(lines: &[&str], at: usize) -> bool {
    let is_comment = |line: &&&str| line.trim_start().starts_with("//") || line.trim_start().starts_with("#[");
    let above = lines[..at].iter().rev().take_while(is_comment);
    above
        .chain(lines.get(at))
        .any(|line| line.contains("SAFETY:") || line.contains("# Safety"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        check(&Tree::of(&[(path, text)]))
            .unwrap()
            .iter()
            .map(|it| format!("{}: {}", it.place, it.what))
            .collect()
    }

    #[test]
    fn outside_its_places_it_is_refused() {
        let text = "// SAFETY: none needed\nfn f() { unsafe { g() } }";
        assert_eq!(
            found("host/sandbox/src/x.rs", text),
            ["host/sandbox/src/x.rs:2: unsafe code outside the places for it"]
        );
        assert_eq!(found("guest-hooks/rego/src/x.rs", text).len(), 1);
    }

    #[test]
    fn in_its_places_it_needs_a_reason() {
        let bare = "fn f() {\n    unsafe { g() }\n}";
        assert_eq!(
            found("host/isolate/src/x.rs", bare),
            ["host/isolate/src/x.rs:2: unsafe code without a reason"]
        );
        let reasoned = "fn f() {\n    // SAFETY: g has no preconditions here,\n    // as the caller holds the lock.\n    unsafe { g() }\n}";
        assert_eq!(found("host/isolate/src/x.rs", reasoned), [""; 0]);
        assert_eq!(
            found("host/isolate/src/x.rs", "unsafe extern \"C\" fn free(data: *mut u8) {}"),
            [""; 0]
        );
        assert_eq!(found("host/isolate/src/x.rs", "unsafe impl Send for X {}").len(), 1);
    }

    #[test]
    fn words_and_attributes_are_no_keyword() {
        let text = "#[unsafe(no_mangle)]\nfn unsafe_name() {} // unsafe {}\nconst A: &str = \"unsafe { }\";";
        assert_eq!(found("guest-hooks/rego/src/lib.rs", text), [""; 0]);
    }
}
