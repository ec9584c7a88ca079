//! What is to be run.

/// One script of a guest.
#[derive(Clone, Debug)]
pub struct Script {
    /// The text.
    pub code: String,
    /// What stacks and messages call it: a file name, or that of the tool it came through.
    pub name: String,
    /// What it is written in.
    pub language: Language,
}

/// The language of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// JavaScript as V8 runs it.
    JavaScript,
    /// TypeScript whose types can be erased. JavaScript is TypeScript.
    TypeScript,
}

impl Script {
    /// A script that came without a file, such as the argument of `run_js`.
    pub fn new(code: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            name: "run_js.ts".into(),
            language: Language::TypeScript,
        }
    }

    /// The script in a file with this name: `.ts`, `.mts` are TypeScript, all else is
    /// JavaScript. The file is not read here.
    pub fn of_file(name: impl Into<String>, code: impl Into<String>) -> Self {
        let name = name.into();
        let typescript = [".ts", ".mts"].iter().any(|end| name.ends_with(end));
        Self {
            code: code.into(),
            language: if typescript {
                Language::TypeScript
            } else {
                Language::JavaScript
            },
            name,
        }
    }

    /// The module specifier V8 knows it by. Stacks print it, so it is made of the name.
    pub(crate) fn specifier(&self) -> String {
        let name: String = self
            .name
            .chars()
            .take(200)
            .map(|c| {
                if c.is_ascii_alphanumeric() || "/._-".contains(c) {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        format!("file:///{}", name.trim_start_matches('/'))
    }
}
