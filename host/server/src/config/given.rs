//! The argument of `--policies-json`: JSON itself, or the path of a file with it.

use std::{
    fs::File,
    io::{self, Read},
};

use super::{
    mistake::{Mistake, Mistakes},
    walk::quoted,
};

/// How large a configuration may be, in bytes. Real ones are a few kilobytes.
const MAX_CONFIG: u64 = 4 << 20;

/// The text of a configuration, and where it came from.
#[derive(Debug)]
pub(crate) struct Given {
    /// `--policies-json`, or the path of the file.
    pub(crate) origin: String,
    /// The JSON text.
    pub(crate) text: String,
}

impl Given {
    /// Takes the argument as JSON where it starts with a brace, and as a path otherwise.
    pub(crate) fn read(argument: &str) -> Result<Self, Mistakes> {
        let flag = "--policies-json";
        let mistake = |origin: &str, message: String| {
            Mistakes::one(Mistake {
                origin: origin.to_owned(),
                path: String::new(),
                message,
            })
        };
        match argument.trim_start().chars().next() {
            None => Err(mistake(
                flag,
                "is empty; give JSON that starts with { or the path of a file".into(),
            )),
            Some('{' | '[') => Ok(Self {
                origin: flag.into(),
                text: argument.to_owned(),
            }),
            Some(_) => match file(argument) {
                Ok(text) => Ok(Self {
                    origin: argument.to_owned(),
                    text,
                }),
                Err(why) => Err(mistake(
                    flag,
                    format!(
                        "cannot read {}: {why}; give JSON that starts with {{ or the path of a file",
                        quoted(argument)
                    ),
                )),
            },
        }
    }
}

fn file(path: &str) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_CONFIG + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_CONFIG {
        return Err(io::Error::other(format!("larger than the limit of {MAX_CONFIG} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| io::Error::other("not UTF-8 text"))?;
    Ok(text
        .strip_prefix('\u{feff}')
        .map_or_else(|| text.clone(), str::to_owned))
}
