//! One seam: the sandbox, the isolate, the contract and JavaScript hooks cannot touch
//! the world; what can is under executors/.

use anyhow::Result;

use super::Violation;
use super::source::{code, paths};
use super::tree::Tree;

/// Where no effect may be named.
const INSIDE: [&str; 4] = [
    "host/contract/src",
    "host/isolate/src",
    "host/sandbox/src",
    "host/hooks/js/src",
];

/// Paths of effects, with everything below them.
const EFFECTS: [&str; 20] = [
    "std::fs",
    "std::net",
    "std::process",
    "std::os::unix",
    "std::os::fd",
    "tokio::fs",
    "tokio::net",
    "tokio::process",
    "reqwest",
    "hyper",
    "hyper_util",
    "ureq",
    "socket2",
    "mio",
    "libc",
    "nix",
    "rustix",
    "cap_std",
    "deno_fetch",
    "deno_fs",
];

/// A file that may name some of them after all, because what it does with them is no effect:
/// the isolate sets the scheduling class of its own threads.
const SCHEDULING: (&str, [&str; 6]) = (
    "host/isolate/src/thread.rs",
    [
        "libc",
        "libc::SCHED_IDLE",
        "libc::gettid",
        "libc::pid_t",
        "libc::sched_param",
        "libc::sched_setscheduler",
    ],
);

/// What stands below an effect's path and is only a value.
const VALUES: [&str; 8] = [
    "std::net::IpAddr",
    "std::net::Ipv4Addr",
    "std::net::Ipv6Addr",
    "std::net::SocketAddr",
    "std::net::SocketAddrV4",
    "std::net::SocketAddrV6",
    "std::net::AddrParseError",
    "std::process::ExitCode",
];

/// Names of effects, however they got there.
const NAMES: [&str; 7] = [
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "UnixStream",
    "UnixListener",
    "ToSocketAddrs",
    "FsModuleLoader",
];

/// Crates whose parts are effects: no glob and no new name for them as a whole.
const WHOLE: [&str; 2] = ["std", "tokio"];

/// The one crate that may name the HTTP client.
const HTTP_CLIENT: (&str, &str) = ("reqwest", "host/executors/http");

/// Checks the sources of every crate behind the seam.
pub fn check(tree: &Tree) -> Result<Vec<Violation>> {
    let mut violations = Vec::new();
    for file in tree.with_extension("rs").filter(|file| file.is_under("host")) {
        let inside = INSIDE.iter().any(|directory| file.is_under(directory));
        let (client, its_place) = HTTP_CLIENT;
        for named in paths(&code(&file.text)) {
            let wrong = if file.path == SCHEDULING.0 && SCHEDULING.1.contains(&named.path.as_str()) {
                None
            } else if inside {
                effect(&named.path)
            } else {
                (is_or_below(&named.path, client) && !file.is_under(its_place)).then(|| client.to_owned())
            };
            violations.extend(wrong.map(|what| Violation {
                place: format!("{}:{}", file.path, named.line),
                what: format!("{what} is named where no effect may be"),
                remedy: "make an operation of it and let an executor do it",
            }));
        }
    }
    Ok(violations)
}

fn effect(path: &str) -> Option<String> {
    let (original, _) = path.split_once(" as ").unwrap_or((path, ""));
    if VALUES.iter().any(|value| is_or_below(original, value)) {
        return None;
    }
    let by_path = EFFECTS
        .iter()
        .find(|effect| is_or_below(original, effect))
        .map(|effect| (*effect).to_owned());
    let by_name = || {
        NAMES
            .iter()
            .find(|name| original.split("::").any(|part| part == **name))
            .map(|it| (*it).to_owned())
    };
    let whole = || {
        let hidden = |root: &&&str| original == format!("{root}::*") || (original == **root && path != original);
        WHOLE.iter().find(hidden).map(|root| format!("{root} as a whole"))
    };
    by_path.or_else(by_name).or_else(whole)
}

fn is_or_below(path: &str, root: &str) -> bool {
    path.strip_prefix(root)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
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
    fn every_spelling_of_an_effect_is_found() {
        for text in [
            "use std::fs;",
            "use std::{collections::BTreeMap, fs::File};",
            "use std::fs as store;",
            "use std as s;",
            "use std::*;",
            "fn f() { let _ = std::fs::read(x); }",
            "fn f() { ::std::process::exit(1) }",
            "use tokio::net::TcpStream;",
            "fn f(x: reqwest::Client) {}",
            "fn f() { unsafe { libc::open(p, 0) } }",
        ] {
            let found = found("host/sandbox/src/ops.rs", text);
            assert!(!found.is_empty(), "not found: {text}");
            assert!(found[0].starts_with("host/sandbox/src/ops.rs:1: "), "{found:?}");
        }
    }

    #[test]
    fn comments_strings_and_executors_are_left_alone() {
        let text = "//! never std::fs\nconst A: &str = \"std::net::TcpStream\";\nuse std::{net::IpAddr, sync::Arc};\n";
        assert_eq!(found("host/sandbox/src/lib.rs", text), [""; 0]);
        assert_eq!(found("host/executors/http/src/lib.rs", "use reqwest::Client;"), [""; 0]);
        assert_eq!(found("host/server/src/config.rs", "use std::fs;"), [""; 0]);
    }

    #[test]
    fn the_http_client_has_one_place() {
        assert_eq!(found("host/server/src/main.rs", "use reqwest::Client;").len(), 1);
    }
}
