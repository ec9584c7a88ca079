//! A record as a table for people.

use std::fmt::Write as _;

use seam_contract::record::{Record, Step};

/// The table, with an empty line behind it. Places are indented by their depth; the
/// microseconds are a place's own, without those below it.
pub(super) fn table(record: &Record) -> String {
    let rows: Vec<[String; 5]> = record.steps.iter().map(row).collect();
    let head = ["place", "role", "verdict", "\u{b5}s", "rewrote, reason"].map(str::to_owned);
    let widths: [usize; 5] = std::array::from_fn(|column| {
        let cells = rows.iter().chain([&head]).map(|row| row[column].chars().count());
        cells.max().unwrap_or_default()
    });
    let mut text = String::new();
    // Writing to a `String` cannot fail.
    let _ = writeln!(
        text,
        "{} {}: {} in {} \u{b5}s ({})",
        record.operation,
        one_line(&record.target),
        record.outcome,
        record.duration.as_micros(),
        record.execution
    );
    for row in std::iter::once(&head).chain(&rows) {
        let [name, role, verdict, micros, rest] = row;
        let [w_name, w_role, w_verdict, w_micros, _] = widths;
        let line = format!("  {name:w_name$}  {role:w_role$}  {verdict:w_verdict$}  {micros:>w_micros$}  {rest}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push('\n');
    text
}

fn row(step: &Step) -> [String; 5] {
    /// Deeper places stand under one another.
    const MAX_INDENT: usize = 12;
    let rest = [
        step.rewrote.join(", "),
        one_line(step.reason.as_deref().unwrap_or_default()),
    ];
    let rest: Vec<String> = rest.into_iter().filter(|part| !part.is_empty()).collect();
    [
        format!("{}{}", "  ".repeat(step.depth.min(MAX_INDENT)), one_line(&step.name)),
        step.role.to_string(),
        step.decision.to_string(),
        step.own.as_micros().to_string(),
        rest.join("; "),
    ]
}

/// A text of a hook or a guest, made fit for a terminal: no line breaks, no escapes, not
/// endless.
fn one_line(text: &str) -> String {
    const MAX_SHOWN: usize = 200;
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let mut line: String = text.chars().take(MAX_SHOWN).map(plain).collect();
    if text.chars().nth(MAX_SHOWN).is_some() {
        line.push('\u{2026}');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_stand_under_one_another() {
        let expected = "\
fetch http://ok.test/: denied in 1234 \u{b5}s (x-1)
  place      role      verdict  \u{b5}s  rewrote, reason
  a.js       pre hook  rewrite  41  url, headers
    @policy  policy    deny     41  no \"way\"

";
        assert_eq!(table(&super::super::line::tests::record()), expected);
    }
}
