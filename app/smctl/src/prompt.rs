//! Questions before something that cannot be taken back.
//!
//! Answers are read from stdin, terminal or not, so that a script can give them;
//! no input at all is a refusal.

use std::io::{self, BufRead};

use anyhow::{Context, Result, bail};

use crate::output::ask;

/// Asks a question that only `y` or `yes` answers.
pub(crate) fn confirm(question: &str, aborted: &str) -> Result<()> {
    ask(question);
    match read_line()? {
        None => bail!("{aborted}: no input received"),
        Some(answer) if ["y", "yes"].contains(&answer.to_lowercase().as_str()) => Ok(()),
        Some(_) => bail!("{aborted}"),
    }
}

/// Has a name typed again, to the letter.
pub(crate) fn retype(question: &str, expected: &str) -> Result<()> {
    ask(question);
    match read_line()? {
        None => bail!("confirmation aborted: no input received"),
        Some(typed) if typed == expected => Ok(()),
        Some(typed) => bail!("confirmation mismatch: typed {typed:?}, expected {expected:?}"),
    }
}

fn read_line() -> Result<Option<String>> {
    let mut line = String::new();
    let bytes = io::stdin().lock().read_line(&mut line).context("read confirmation")?;
    Ok((bytes > 0).then(|| line.trim().to_owned()))
}
