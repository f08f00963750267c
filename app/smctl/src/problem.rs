//! How an error is shown: `Error: <what failed>`, then `Error details:` and the
//! causes below it, each on its own indented lines.

use std::io;

use crate::output::{Colour, coloured, say};

/// Prints an error on stderr.
pub(crate) fn print(error: &anyhow::Error) {
    let (top, details) = parts(error);
    say(&format!("{} {top}", coloured(Colour::Red, "Error:")));
    if !details.is_empty() {
        say(&coloured(Colour::Magenta, "Error details:"));
    }
    for line in details {
        say(&format!("  {line}"));
    }
}

/// What failed, and the lines that say why.
fn parts(error: &anyhow::Error) -> (String, Vec<String>) {
    let causes = error.chain().skip(1).map(ToString::to_string);
    let lines = causes.flat_map(|cause| cause.lines().map(str::to_owned).collect::<Vec<_>>());
    (error.to_string(), lines.collect())
}

/// Whether it failed only because nobody reads our output any more.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn every_cause_has_its_own_lines() {
        let error = anyhow!("inner\nwith a hint").context("middle").context("top");
        let expected = ["middle", "inner", "with a hint"].map(str::to_owned).to_vec();
        assert_eq!(parts(&error), ("top".to_owned(), expected));
    }

    #[test]
    fn an_error_without_a_cause_has_no_details() {
        assert_eq!(parts(&anyhow!("top")), ("top".to_owned(), vec![]));
    }
}
