//! Where text goes: data to stdout, talk to stderr, colours only on a terminal.

use std::io::{self, IsTerminal, Write};

use anyhow::Result;
use serde::Serialize;

use crate::printable::printable;
use crate::{go_json, tabwriter};

/// Prints data.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(printable(text).as_bytes())?;
    stdout.flush()?;
    Ok(())
}

/// Prints data as the Go tool prints JSON.
pub(crate) fn print_json(value: &impl Serialize) -> Result<()> {
    print(&go_json::to_string(value)?)
}

/// Prints tab-separated lines as a table.
pub(crate) fn print_table(rows: &str) -> Result<()> {
    print(&tabwriter::align(rows))
}

/// Says something to the operator. A closed stderr is no reason to stop.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{}", printable(text));
}

/// Says something without ending the line: a question.
pub(crate) fn ask(text: &str) {
    let _ = write!(io::stderr(), "{}", printable(text)).and_then(|()| io::stderr().flush());
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Colour {
    Red,
    Yellow,
    Magenta,
}

/// The text in a colour if stderr is a terminal that wants colours.
pub(crate) fn coloured(colour: Colour, text: &str) -> String {
    if io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        painted(colour, text)
    } else {
        text.to_owned()
    }
}

fn painted(colour: Colour, text: &str) -> String {
    let code = match colour {
        Colour::Red => 31,
        Colour::Yellow => 33,
        Colour::Magenta => 35,
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paint_ends_where_the_text_ends() {
        assert_eq!(painted(Colour::Red, "x"), "\x1b[31mx\x1b[0m");
        assert_eq!(painted(Colour::Yellow, "x"), "\x1b[33mx\x1b[0m");
        assert_eq!(painted(Colour::Magenta, "x"), "\x1b[35mx\x1b[0m");
    }
}
