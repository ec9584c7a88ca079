//! Rust text without what only looks like code, and the paths it names.

/// The text with comments, strings and characters blanked out, line by line as it was.
pub fn code(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(&character) = characters.get(at) {
        let rest = &characters[at..];
        let length = match character {
            '/' if rest.starts_with(&['/', '/']) => line_comment(rest),
            '/' if rest.starts_with(&['/', '*']) => block_comment(rest),
            '"' => string(rest),
            '\'' => character_literal(rest).unwrap_or(0),
            _ if starts_word(&characters, at) => raw_string(rest).unwrap_or(0),
            _ => 0,
        };
        if length == 0 {
            out.push(character);
            at += 1;
            continue;
        }
        let blanked = rest.iter().take(length);
        out.extend(blanked.map(|hidden| if *hidden == '\n' { '\n' } else { ' ' }));
        at += length;
    }
    out
}

/// A path such as `std::fs::read` and the line it stands in, from 1.
#[derive(Debug, PartialEq, Eq)]
pub struct Named {
    pub path: String,
    pub line: usize,
}

/// Every path in `code`: those of `use` with their braces written out, and those that
/// stand in the code itself. A renaming `use a::b as c` is `a::b as c`.
pub fn paths(code: &str) -> Vec<Named> {
    let mut found = Vec::new();
    let tokens = tokens(code);
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if token.path == "use" && tokens.get(at + 1).is_some_and(|next| next.path != "<") {
            at += 1;
            tree(&tokens, &mut at, "", &mut found);
            continue;
        }
        if is_word(&token.path) {
            let line = token.line;
            let mut path = token.path.clone();
            while separator(&tokens, at + 1) && tokens.get(at + 2).is_some_and(|next| is_word(&next.path)) {
                path = format!("{path}::{}", tokens[at + 2].path);
                at += 2;
            }
            found.push(Named { path, line });
        }
        at += 1;
    }
    found
}

/// One branch of a `use`, up to the comma, brace or semicolon that ends it.
fn tree(tokens: &[Named], at: &mut usize, prefix: &str, found: &mut Vec<Named>) {
    let mut path = prefix.to_owned();
    let mut line = 0;
    while let Some(token) = tokens.get(*at) {
        match token.path.as_str() {
            "::" => {}
            "{" => {
                *at += 1;
                while tokens.get(*at).is_some_and(|token| token.path != "}") {
                    tree(tokens, at, &path, found);
                    *at += usize::from(tokens.get(*at).is_some_and(|token| token.path == ","));
                }
                *at += 1;
                return;
            }
            "," | "}" | ";" => break,
            "as" => {
                let name = tokens.get(*at + 1).map(|token| token.path.as_str()).unwrap_or_default();
                path = format!("{path} as {name}");
                *at += 1;
            }
            "self" if !path.is_empty() => line = token.line,
            segment => {
                path = if path.is_empty() {
                    segment.to_owned()
                } else {
                    format!("{path}::{segment}")
                };
                line = token.line;
            }
        }
        *at += 1;
    }
    if !path.is_empty() {
        found.push(Named { path, line });
    }
}

/// Words, `::` and single other characters, without space.
fn tokens(code: &str) -> Vec<Named> {
    let mut tokens: Vec<Named> = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = match first {
                ':' if rest.starts_with("::") => 2,
                _ if is_word_character(first) => rest
                    .find(|character| !is_word_character(character))
                    .unwrap_or(rest.len()),
                _ => first.len_utf8(),
            };
            let (token, after) = rest.split_at(length);
            tokens.push(Named {
                path: token.to_owned(),
                line: number + 1,
            });
            rest = after.trim_start();
        }
    }
    tokens
}

fn separator(tokens: &[Named], at: usize) -> bool {
    tokens.get(at).is_some_and(|token| token.path == "::")
}

fn is_word(token: &str) -> bool {
    token.starts_with(is_word_character)
}

fn is_word_character(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn starts_word(characters: &[char], at: usize) -> bool {
    at == 0 || !is_word_character(characters[at - 1])
}

fn line_comment(rest: &[char]) -> usize {
    rest.iter()
        .position(|character| *character == '\n')
        .unwrap_or(rest.len())
}

fn block_comment(rest: &[char]) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        match rest.get(at..at + 2) {
            Some(['/', '*']) => (depth, at) = (depth + 1, at + 2),
            Some(['*', '/']) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

fn string(rest: &[char]) -> usize {
    let mut at = 1;
    while let Some(character) = rest.get(at) {
        match character {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// `r"…"`, `br##"…"##` and the like; `None` where no raw string starts here.
fn raw_string(rest: &[char]) -> Option<usize> {
    let prefix = rest
        .iter()
        .take_while(|character| ['b', 'c', 'r'].contains(character))
        .count();
    if prefix == 0 || prefix > 2 || rest[prefix - 1] != 'r' {
        return None;
    }
    let hashes = rest[prefix..].iter().take_while(|character| **character == '#').count();
    if rest.get(prefix + hashes) != Some(&'"') {
        return None;
    }
    let end: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    let body = prefix + hashes + 1;
    let length = rest[body..].windows(end.len()).position(|window| window == end);
    Some(length.map_or(rest.len(), |length| body + length + end.len()))
}

/// `'x'` or `'\u{1f}'`; `None` where the quote starts a lifetime.
fn character_literal(rest: &[char]) -> Option<usize> {
    match rest {
        ['\'', '\\', _, ..] => rest
            .iter()
            .skip(3)
            .position(|character| *character == '\'')
            .map(|end| end + 4),
        ['\'', _, '\'', ..] => Some(3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        paths(&code(text)).into_iter().map(|named| named.path).collect()
    }

    #[test]
    fn what_only_looks_like_code_is_blank() {
        let text = "a(); // b()\n/* c /* d */ e */ f();\nlet s = \"g\\\" h\"; let r = r#\"i\" j\"#; let k = 'l';\n";
        let left = code(text);
        for word in ["b", "c", "d", "e", "g", "h", "i", "j", "l"] {
            assert!(
                !left.split(|c: char| !c.is_alphanumeric()).any(|part| part == word),
                "{word} in {left}"
            );
        }
        for word in ["a", "f", "s", "k"] {
            assert!(left.contains(word), "{word} in {left}");
        }
        assert_eq!(left.lines().count(), text.lines().count());
    }

    #[test]
    fn a_lifetime_is_no_character() {
        assert!(code("fn f<'a>(x: &'a str) { g() }").contains("g()"));
        assert!(!code(r"let c = '\''; let d = '\u{41}';").contains("41"));
    }

    #[test]
    fn braces_of_a_use_are_written_out() {
        assert_eq!(
            names("use std::{fs::{self, File}, io};"),
            ["std::fs", "std::fs::File", "std::io"]
        );
        assert_eq!(names("use std::fs as disk;"), ["std::fs as disk"]);
        assert_eq!(names("use std::*;"), ["std::*"]);
    }

    #[test]
    fn paths_in_code_are_found_with_their_line() {
        let found = paths(&code("fn f() {\n    std :: fs::read(x)\n}"));
        assert!(
            found.contains(&Named {
                path: "std::fs::read".into(),
                line: 2
            }),
            "{found:?}"
        );
    }
}
