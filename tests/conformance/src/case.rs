//! The form of a case file. `README.md` beside this crate explains it to people.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// A file of cases.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// What the cases have in common; for readers.
    #[allow(dead_code)]
    about: String,
    cases: Vec<Case>,
}

/// One case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What must hold, in words.
    pub name: String,
    /// Where the hook stands, outermost first.
    #[serde(default = "one_pre_hook")]
    pub places: Vec<Place>,
    /// Whether the hook is given request bodies.
    #[serde(default)]
    pub body: bool,
    /// How long one call of the hook may take, in milliseconds. For cases that run into it.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    /// What the script sends.
    pub request: Request,
    /// What the effect does, call by call; the last one counts for all later calls.
    #[serde(default)]
    pub effects: Vec<Effect>,
    /// What must come of it.
    pub expect: Expect,
    /// The file it stands in.
    #[serde(skip)]
    pub file: PathBuf,
}

/// A place a hook takes in the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// A pre hook.
    Pre,
    /// A post hook.
    Post,
    /// A layer. Rego has none.
    Layer,
    /// A pre hook that must say yes.
    Gate,
    /// A policy.
    Policy,
}

fn one_pre_hook() -> Vec<Place> {
    vec![Place::Pre]
}

/// Header fields: a name with its value, or with its values in order.
pub type Fields = BTreeMap<String, Values>;

/// One value or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Values {
    /// One field.
    One(String),
    /// As many fields of this name.
    Many(Vec<String>),
}

impl Values {
    /// Every value.
    pub fn all(&self) -> &[String] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values,
        }
    }
}

/// What the script sends.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The method, `GET` where there is none.
    #[serde(default = "get")]
    pub method: String,
    /// The URL, as a script would write it.
    pub url: String,
    /// The header fields.
    #[serde(default)]
    pub headers: Fields,
    /// The body, as text.
    #[serde(default)]
    pub body: Option<String>,
}

fn get() -> String {
    "GET".into()
}

/// What the effect does with one request.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Effect {
    /// Fails with this message.
    Fails {
        /// The message.
        fails: String,
    },
    /// Denies with this reason, as a virtual executor may.
    Denies {
        /// The reason.
        denies: String,
    },
    /// Answers.
    Answers(Answer),
}

/// An answer; what is not given is 200, no headers and the body `answer`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The reason phrase.
    #[serde(rename = "statusText")]
    pub status_text: String,
    /// The header fields.
    pub headers: Fields,
    /// The body, as text.
    pub body: String,
}

impl Default for Answer {
    fn default() -> Self {
        Self {
            status: 200,
            status_text: String::new(),
            headers: Fields::new(),
            body: "answer".into(),
        }
    }
}

/// What must come of a case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// How the operation ends.
    pub outcome: Outcome,
    /// What each place on the record made of it, in order of entry: a decision, the fields
    /// it changed, and after a colon the reason. See [`crate::expect::matches`].
    pub steps: Vec<String>,
    /// The error that the script gets, where it gets one.
    #[serde(default)]
    pub message: Option<String>,
    /// Every request that took effect, in order. What a request does not mention is as the
    /// script sent it.
    pub sent: Vec<Sent>,
    /// The answer that the script gets. What it does not mention is as the last effect
    /// answered it.
    #[serde(default)]
    pub answer: Option<Got>,
}

/// How an operation ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// With an answer.
    Answered,
    /// With a decision against it.
    Denied,
    /// Without either.
    Failed,
}

/// A request that took effect.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sent {
    /// The method.
    pub method: Option<String>,
    /// The URL.
    pub url: Option<String>,
    /// All header fields but those that the conformance hook reads its commands from.
    pub headers: Option<Fields>,
    /// The body.
    pub body: Option<String>,
}

/// An answer that the script gets.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Got {
    /// The status.
    pub status: Option<u16>,
    /// The reason phrase.
    #[serde(rename = "statusText")]
    pub status_text: Option<String>,
    /// `Response.url`.
    pub url: Option<String>,
    /// All header fields.
    pub headers: Option<Fields>,
    /// The body.
    pub body: Option<String>,
}

/// Every case in the `*.json` files of a directory, file by file in order of name.
///
/// Errors name the file: one that does not parse, a case that leaves out what it ends
/// with, a name that occurs twice, no case at all.
pub fn load(directory: &Path) -> Result<Vec<Case>> {
    let entries = std::fs::read_dir(directory).with_context(|| format!("no directory {}", directory.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        files.push(entry?.path());
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        cases.extend(load_file(&file)?);
    }
    ensure!(
        !cases.is_empty(),
        "{} has no *.json file with cases",
        directory.display()
    );
    let mut names: Vec<_> = cases.iter().map(|case| case.name.as_str()).collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|two| two[0] == two[1]);
    ensure!(
        twice.is_none(),
        "{}: two cases are called {:?}",
        directory.display(),
        twice.unwrap_or_default()[0]
    );
    Ok(cases)
}

/// Every case of one file. Errors as in [`load`].
pub fn load_file(file: &Path) -> Result<Vec<Case>> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
    let read: File = serde_json::from_str(&text).with_context(|| format!("{shown} is not a file of cases"))?;
    let mut cases = read.cases;
    for case in &mut cases {
        case.file = file.to_owned();
        let (name, expect) = (&case.name, &case.expect);
        let answered = expect.outcome == Outcome::Answered;
        ensure!(
            answered != expect.message.is_some(),
            "{shown}: {name}: an error has a message, an answer has none"
        );
        ensure!(
            answered == expect.answer.is_some(),
            "{shown}: {name}: only an answered case has an answer"
        );
        ensure!(!expect.steps.is_empty(), "{shown}: {name}: no steps");
    }
    Ok(cases)
}
