//! `file://` URLs: from the text in a configuration to a path.

use std::path::PathBuf;

use super::walk::quoted;

/// What a source's URL names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileUrl {
    /// The absolute path.
    pub(crate) path: PathBuf,
    /// What stands there, by its name.
    pub(crate) kind: Kind,
}

/// What kind of source a file is, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `.js`
    JavaScript,
    /// `.wasm`
    Component,
    /// Everything else: a `.rego` file, or a directory of them.
    Rego,
}

/// What is accepted, for messages.
const ACCEPTED: &str = "accepted are file:// URLs of a .js file, a .wasm component, a .rego file or a directory of \
                        .rego files, such as file:///etc/policies/fetch.rego";

/// Reads the URL of a source. The error says what is wrong and what is accepted.
pub(crate) fn read(url: &str) -> Result<FileUrl, UrlMistake> {
    let mistake = |what: String| Err(UrlMistake(what));
    let scheme = url.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    match scheme.as_deref() {
        Some("file") => {}
        Some("http" | "https") => {
            return mistake(format!(
                "this version has no REST sources (http, https) yet; {ACCEPTED}"
            ));
        }
        Some(scheme)
            if !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c)) =>
        {
            return mistake(format!("unknown scheme {}; {ACCEPTED}", quoted(scheme)));
        }
        _ if url.starts_with('/') => {
            return mistake(format!("{} has no scheme; write file://{}", quoted(url), encoded(url)));
        }
        _ => return mistake(format!("{} is not a URL; {ACCEPTED}", quoted(url))),
    }
    // The scheme is ASCII and its colon is there.
    let Some(rest) = url["file:".len()..].strip_prefix("//") else {
        return mistake(format!("{} lacks the slashes behind file:; {ACCEPTED}", quoted(url)));
    };
    let Some(slash) = rest.find('/') else {
        return mistake(format!("{} is not absolute; {ACCEPTED}", quoted(url)));
    };
    let (host, path) = rest.split_at(slash);
    if !host.is_empty() {
        return mistake(format!(
            "{} is not absolute: {} stands where a host would; {ACCEPTED}",
            quoted(url),
            quoted(host)
        ));
    }
    if let Some(mark) = path.chars().find(|c| matches!(c, '?' | '#')) {
        return mistake(format!(
            "{} has a query or fragment; percent-encode a {mark} that belongs to the path",
            quoted(url)
        ));
    }
    let path = match decoded(path) {
        Some(path) if !path.contains('\0') => path,
        _ => return mistake(format!("{} is not percent-encoded UTF-8", quoted(url))),
    };
    let kind = match path.rsplit('/').next().and_then(|name| name.rsplit_once('.')) {
        Some((_, "js")) => Kind::JavaScript,
        Some((_, "wasm")) => Kind::Component,
        _ => Kind::Rego,
    };
    Ok(FileUrl {
        path: PathBuf::from(path),
        kind,
    })
}

/// What is wrong with a source's URL. Displays as a mistake's message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UrlMistake(pub(crate) String);

/// The text behind `%XX`; `None` where one is malformed or the whole is not UTF-8.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first == b'%' {
            let digits = after
                .get(..2)
                .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
            let digits = std::str::from_utf8(digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

/// A path as a URL has it.
fn encoded(path: &str) -> String {
    path.replace('%', "%25").replace('?', "%3F").replace('#', "%23")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_kinds() {
        for (url, path, kind) in [
            ("file:///etc/p/a.js", "/etc/p/a.js", Kind::JavaScript),
            ("FILE:///etc/p/a.wasm", "/etc/p/a.wasm", Kind::Component),
            ("file:///etc/p/a.rego", "/etc/p/a.rego", Kind::Rego),
            ("file:///etc/p", "/etc/p", Kind::Rego),
            ("file:///etc/x.js/", "/etc/x.js/", Kind::Rego),
            ("file:///a%20b/%C3%A9%25.js", "/a b/\u{e9}%.js", Kind::JavaScript),
        ] {
            assert_eq!(
                read(url),
                Ok(FileUrl {
                    path: path.into(),
                    kind
                }),
                "{url}"
            );
        }
    }

    #[test]
    fn what_is_no_absolute_file_url_is_refused() {
        for (url, says) in [
            ("file://policies/a.js", "\"policies\" stands where a host would"),
            ("file://localhost/etc/a.js", "\"localhost\" stands where a host would"),
            ("file://./a.js", "\".\" stands where a host would"),
            ("file://a.js", "is not absolute"),
            ("file:a.js", "lacks the slashes"),
            ("file:/etc/a.js", "lacks the slashes"),
            ("file:///etc/a.js?x", "percent-encode a ?"),
            ("file:///etc/a.js#x", "percent-encode a #"),
            ("file:///etc/%zz.js", "not percent-encoded"),
            ("file:///etc/%0.js", "not percent-encoded"),
            ("file:///etc/%ff.js", "not percent-encoded"),
            ("file:///etc/%00.js", "not percent-encoded"),
            ("/etc/50%.js", "write file:///etc/50%25.js"),
            ("policies/a.js", "is not a URL"),
            ("", "is not a URL"),
            ("https://opa:8181", "no REST sources"),
            ("ftp://x/a.js", "unknown scheme \"ftp\"; accepted are file:// URLs"),
            ("C:\\policies\\a.js", "unknown scheme \"c\""),
            ("data:text/javascript,1", "unknown scheme \"data\""),
        ] {
            let UrlMistake(message) = read(url).expect_err(url);
            assert!(message.contains(says), "{url}: {message}");
        }
    }
}
