//! From a guest's text to the module V8 runs: types erased, the result exported.
//!
//! Both edits happen in place, so lines keep their numbers. What our parser does not
//! understand is left to V8 to judge.

use std::sync::{Arc, Mutex, PoisonError};

use seam_isolate::ScriptError;
use swc_common::{
    FileName, SourceMap, Spanned,
    errors::{DiagnosticBuilder, Emitter, Handler},
    sync::Lrc,
};
use swc_ecma_ast::{Decl, EsVersion, Module, ModuleDecl, ModuleItem, Stmt};
use swc_ecma_parser::{EsSyntax, Parser, StringInput, Syntax, lexer::Lexer};
use swc_ts_fast_strip::{ErrorCode, Mode, Options, operate};

use crate::{Limits, script::Language, script::Script};

/// The stack that [`prepare`] needs for a script of this size, in bytes. The parser
/// recurses, so it depends on how deep a text can nest; it is address space, of which only
/// what is used is backed by memory.
pub(crate) fn stack_for(code: &str) -> usize {
    // What nests without brackets takes less than 5 KiB a byte (`x=>x=>…`), unoptimised.
    const A_BYTE: usize = 8 << 10;
    // A pair of brackets takes less than 28 KiB, and MAX_NESTING of them are parsed.
    const BRACKETS: usize = 32 << 20;
    BRACKETS + code.len().min(Limits::MAX_CODE_BYTES) * A_BYTE
}

/// How many brackets may be open at once, those in texts and comments counted too. What
/// nests deeper is machine-made, and left to V8 as it is.
const MAX_NESTING: usize = 1000;

/// A module's text, and what our parser had against the original, if V8 should refuse it.
pub(crate) struct Source {
    pub(crate) code: String,
    pub(crate) complaint: Option<ScriptError>,
}

/// Makes a module of a script. Errors: too long, or TypeScript that is more than types.
pub(crate) fn prepare(script: &Script) -> Result<Source, ScriptError> {
    if script.code.len() > Limits::MAX_CODE_BYTES {
        return Err(error(
            "RangeError",
            format!(
                "the script has {} bytes, more than the limit of {}",
                script.code.len(),
                Limits::MAX_CODE_BYTES
            ),
        ));
    }
    if nests_too_deep(&script.code) {
        return Ok(Source {
            code: script.code.clone(),
            complaint: Some(error(
                "SyntaxError",
                format!("the script nests deeper than {MAX_NESTING} brackets"),
            )),
        });
    }
    let (code, complaint) = match script.language {
        Language::JavaScript => (script.code.clone(), None),
        Language::TypeScript => match erase_types(&script.code) {
            Ok(code) => (code, None),
            Err(Refused::Syntax(complaint)) => (script.code.clone(), Some(complaint)),
            Err(Refused::Unsupported(error)) => return Err(error),
        },
    };
    let code = export_result(&code).unwrap_or(code);
    Ok(Source { code, complaint })
}

fn nests_too_deep(code: &str) -> bool {
    let mut open = 0_usize;
    code.bytes().any(|byte| {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        open > MAX_NESTING
    })
}

enum Refused {
    Syntax(ScriptError),
    Unsupported(ScriptError),
}

fn erase_types(code: &str) -> Result<String, Refused> {
    let map = Lrc::<SourceMap>::default();
    let found = Arc::new(Mutex::new(None));
    let handler = Handler::with_emitter(
        false,
        false,
        Box::new(First {
            found: found.clone(),
            map: map.clone(),
        }),
    );
    let options = Options {
        module: Some(true),
        mode: Mode::StripOnly,
        ..Default::default()
    };
    let refused = match operate(&map, &handler, code.to_owned(), options) {
        Ok(output) => return Ok(output.code),
        Err(refused) => refused,
    };
    let what = found.lock().unwrap_or_else(PoisonError::into_inner).take();
    let what = what.unwrap_or_else(|| refused.message.clone());
    Err(match refused.code {
        ErrorCode::UnsupportedSyntax => Refused::Unsupported(error(
            "SyntaxError",
            format!("only types that can be erased are supported here: {what}"),
        )),
        _ => Refused::Syntax(error("SyntaxError", what)),
    })
}

/// Keeps the first thing the parser says, with its line.
struct First {
    found: Arc<Mutex<Option<String>>>,
    map: Lrc<SourceMap>,
}

impl Emitter for First {
    fn emit(&mut self, diagnostic: &mut DiagnosticBuilder<'_>) {
        let place = diagnostic
            .span
            .primary_span()
            .map(|span| self.map.lookup_char_pos(span.lo()));
        let text = diagnostic.message();
        let text = match place {
            Some(place) => format!("{text} (line {}, column {})", place.line, place.col_display + 1),
            None => text,
        };
        self.found
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(text);
    }
}

/// The same module with its last expression statement as the default export. `None`:
/// there is a default export, there is no such statement, or it does not parse.
fn export_result(code: &str) -> Option<String> {
    let map = Lrc::<SourceMap>::default();
    let file = map.new_source_file(FileName::Anon.into(), code.to_owned());
    let syntax = Syntax::Es(EsSyntax {
        decorators: true,
        explicit_resource_management: true,
        import_attributes: true,
        ..Default::default()
    });
    let lexer = Lexer::new(syntax, EsVersion::latest(), StringInput::from(&*file), None);
    let mut parser = Parser::new_from(lexer);
    let module = parser.parse_module().ok()?;
    if !parser.take_errors().is_empty() || has_default_export(&module) {
        return None;
    }
    let expression = last_expression(&module)?;
    let at = |position: swc_common::BytePos| (position.0 - file.start_pos.0) as usize;
    let (start, end) = (at(expression.lo), at(expression.hi));
    Some(format!(
        "{}export default ({}){}",
        code.get(..start)?,
        code.get(start..end)?,
        code.get(end..)?
    ))
}

fn has_default_export(module: &Module) -> bool {
    use swc_ecma_ast::{ExportSpecifier, ModuleExportName};
    let named_default = |name: &ModuleExportName| name.atom().as_str() == "default";
    module.body.iter().any(|item| match item {
        ModuleItem::ModuleDecl(ModuleDecl::ExportDefaultDecl(_) | ModuleDecl::ExportDefaultExpr(_)) => true,
        ModuleItem::ModuleDecl(ModuleDecl::ExportNamed(export)) => export.specifiers.iter().any(|one| match one {
            ExportSpecifier::Default(_) => true,
            ExportSpecifier::Namespace(all) => named_default(&all.name),
            ExportSpecifier::Named(one) => named_default(one.exported.as_ref().unwrap_or(&one.orig)),
        }),
        _ => false,
    })
}

/// The last statement that does anything, if it is an expression. Declarations that come
/// after it are passed over: hoisted functions often stand at the end.
fn last_expression(module: &Module) -> Option<swc_common::Span> {
    let last = module.body.iter().rev().find(|item| match item {
        ModuleItem::Stmt(Stmt::Empty(_) | Stmt::Decl(Decl::Fn(_) | Decl::Class(_))) => false,
        ModuleItem::Stmt(_) => true,
        ModuleItem::ModuleDecl(_) => false,
    })?;
    match last {
        ModuleItem::Stmt(Stmt::Expr(statement)) => Some(statement.expr.span()),
        _ => None,
    }
}

fn error(name: &str, message: String) -> ScriptError {
    ScriptError {
        name: name.into(),
        message,
        stack: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(code: &str) -> String {
        prepare(&Script::new(code)).unwrap().code
    }

    #[test]
    fn types_go_and_lines_stay() {
        let code = module("interface A {\n  b: string;\n}\nconst a: A = { b: 'x' } as A;\na.b!;\n");
        assert_eq!(code.lines().count(), 5);
        assert!(
            code.contains("export default (a.b") && !code.contains("interface"),
            "{code}"
        );
    }

    #[test]
    fn the_last_expression_is_the_result() {
        for (code, expected) in [
            ("1 + 1", "export default (1 + 1)"),
            ("1;\n2;\n", "1;\nexport default (2);\n"),
            ("a, b;;", "export default (a, b);;"),
            ("f(); function f() {}", "export default (f()); function f() {}"),
            ("await x", "export default (await x)"),
            ("x = 1 // note", "export default (x = 1) // note"),
            ("({a: 1})", "export default (({a: 1}))"),
            ("let x = 1", "let x = 1"),
            ("1; let x = 2", "1; let x = 2"),
            ("1; if (a) { 2 }", "1; if (a) { 2 }"),
            ("export default 3; 4", "export default 3; 4"),
            (
                "const a = 1; export { a as default }; 4",
                "const a = 1; export { a as default }; 4",
            ),
            ("\u{e9}; '\u{1f600}'", "\u{e9}; export default ('\u{1f600}')"),
        ] {
            assert_eq!(module(code), expected, "{code}");
        }
    }

    #[test]
    fn more_than_types_is_refused_with_its_line() {
        let Err(refused) = prepare(&Script::new("1;\nenum A { B }")) else {
            panic!("it was accepted");
        };
        assert!(refused.message.contains("line 2"), "{refused}");
        let source = prepare(&Script::new("let a: = 1")).unwrap();
        assert!(source.complaint.unwrap().message.contains("line 1"));
    }

    #[test]
    fn deep_nesting_fits_the_stack() {
        // As deep as a text of this size can nest, in brackets and without.
        const BYTES: usize = 32 << 10;
        let deep = |before: &str, middle: &str, after: &str| {
            let opens = before.bytes().filter(|byte| b"([{".contains(byte)).count();
            let closes = before.bytes().filter(|byte| b")]}".contains(byte)).count();
            let room = BYTES / (before.len() + after.len());
            let levels = if opens > closes {
                room.min((MAX_NESTING - 1) / (opens - closes))
            } else {
                room
            };
            format!("{}{middle}{}", before.repeat(levels), after.repeat(levels))
        };
        for code in [
            deep("(", "1", ")"),
            deep("[", "", "]"),
            deep("{", "", "}"),
            deep("1+", "1", ""),
            deep("a.", "b", ""),
            deep("!", "1", ""),
            deep("x=>", "1", ""),
            deep("async()=>", "1", ""),
            deep("()=>{", "", "}"),
            deep("if(1)", ";", ""),
            deep("a?b:", "c", ""),
            deep("f(", "", ")"),
            deep("`${", "1", "}`"),
            deep("class A{a=", "1", "}"),
            deep("type A=B<", "C", ">"),
            deep("a=", "1", ""),
            deep("a**", "1", ""),
            deep("x:", "1", ""),
        ] {
            let size = stack_for(&code);
            let script = Script::new(code);
            let parsed = std::thread::Builder::new()
                .stack_size(size)
                .spawn(move || prepare(&script).is_ok())
                .unwrap();
            // Whatever it says, it says it without running out of stack.
            parsed.join().unwrap();
        }
        let deeper = prepare(&Script::new("(".repeat(MAX_NESTING + 1))).unwrap();
        assert!(deeper.complaint.unwrap().message.contains("1000 brackets"));
    }
}
