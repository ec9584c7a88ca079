//! The command line: a name, a few flags, and what is passed on after `--`.

use std::process::ExitCode;

/// How wrong usage ends, apart from a command that failed (1).
const WRONG_USAGE: u8 = 2;

/// One command.
pub struct Command {
    pub name: &'static str,
    pub about: &'static str,
    pub flags: &'static [Flag],
    /// What stands after `--`, where the command takes something there.
    pub passes_on: Option<&'static str>,
    pub run: fn(&Arguments) -> anyhow::Result<()>,
}

/// A flag of a command, with its dashes.
pub struct Flag {
    pub name: &'static str,
    pub about: &'static str,
}

/// What was given to a command.
#[derive(Debug, Default)]
pub struct Arguments {
    flags: Vec<String>,
    /// Everything after `--`.
    pub passed_on: Vec<String>,
}

impl Arguments {
    /// Whether the flag was given.
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|given| given == flag)
    }
}

/// Runs the command that `line` names, or prints help.
pub fn main(commands: &[Command], line: Vec<String>) -> ExitCode {
    let Some((name, rest)) = line.split_first() else {
        print!("{}", help(commands));
        return ExitCode::SUCCESS;
    };
    if ["help", "--help", "-h"].contains(&name.as_str()) {
        print!("{}", help(commands));
        return ExitCode::SUCCESS;
    }
    let (command, arguments) = match parse(commands, name, rest) {
        Ok(parsed) => parsed,
        Err(wrong) => {
            eprintln!("error: {wrong}");
            return ExitCode::from(WRONG_USAGE);
        }
    };
    match (command.run)(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Why a command line cannot be run.
#[derive(Debug, PartialEq, Eq)]
pub struct WrongUsage(String);

impl std::fmt::Display for WrongUsage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

fn parse<'a>(commands: &'a [Command], name: &str, rest: &[String]) -> Result<(&'a Command, Arguments), WrongUsage> {
    let Some(command) = commands.iter().find(|command| command.name == name) else {
        let names: Vec<&str> = commands.iter().map(|command| command.name).collect();
        return Err(WrongUsage(format!(
            "unknown command `{name}`; there are {}",
            names.join(", ")
        )));
    };
    let mut arguments = Arguments::default();
    let mut rest = rest.iter();
    while let Some(argument) = rest.next() {
        if argument == "--" && command.passes_on.is_some() {
            arguments.passed_on = rest.cloned().collect();
            break;
        }
        if !command.flags.iter().any(|flag| flag.name == argument) {
            return Err(WrongUsage(format!(
                "`{name}` does not take `{argument}`; {}",
                accepted(command)
            )));
        }
        arguments.flags.push(argument.clone());
    }
    Ok((command, arguments))
}

fn accepted(command: &Command) -> String {
    let mut names: Vec<String> = command.flags.iter().map(|flag| format!("`{}`", flag.name)).collect();
    names.extend(command.passes_on.map(|what| format!("`--` and {what}")));
    if names.is_empty() {
        "it takes nothing".to_owned()
    } else {
        format!("it takes {}", names.join(", "))
    }
}

fn help(commands: &[Command]) -> String {
    let mut text = String::from("cargo xtask <command>\n\n");
    for command in commands {
        text += &format!("  {:<8}  {}\n", command.name, command.about);
        for flag in command.flags {
            text += &format!("  {:<8}    {}: {}\n", "", flag.name, flag.about);
        }
        if let Some(what) = command.passes_on {
            text += &format!("  {:<8}    -- …: {what}\n", "");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMANDS: &[Command] = &[
        Command {
            name: "plain",
            about: "does it",
            flags: &[],
            passes_on: None,
            run: |_| Ok(()),
        },
        Command {
            name: "rich",
            about: "does more",
            flags: &[Flag {
                name: "--loud",
                about: "prints",
            }],
            passes_on: Some("names"),
            run: |_| Ok(()),
        },
    ];

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn an_unknown_command_lists_the_known_ones() {
        let wrong = parse(COMMANDS, "plian", &[]).err();
        assert_eq!(
            wrong,
            Some(WrongUsage("unknown command `plian`; there are plain, rich".into()))
        );
    }

    #[test]
    fn an_unknown_flag_lists_the_accepted_ones() {
        let wrong = parse(COMMANDS, "rich", &words("--quiet")).err();
        assert_eq!(
            wrong,
            Some(WrongUsage(
                "`rich` does not take `--quiet`; it takes `--loud`, `--` and names".into()
            ))
        );
        let wrong = parse(COMMANDS, "plain", &words("-- x")).err();
        assert_eq!(
            wrong,
            Some(WrongUsage("`plain` does not take `--`; it takes nothing".into()))
        );
    }

    #[test]
    fn what_stands_after_the_dashes_is_passed_on_untouched() {
        let (_, arguments) = parse(COMMANDS, "rich", &words("--loud -- --loud a")).ok().unwrap();
        assert!(arguments.has("--loud"));
        assert_eq!(arguments.passed_on, ["--loud", "a"]);
    }

    #[test]
    fn help_names_every_command() {
        let help = help(COMMANDS);
        assert!(
            COMMANDS
                .iter()
                .all(|command| help.contains(command.name) && help.contains(command.about))
        );
    }
}
