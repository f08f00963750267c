//! Long flags with one dash, as Go programs accept them: `-tcp ca.pem`.
//!
//! Only names of more than one letter that some command really has are touched;
//! `-n ns` and everything after `--` stay as they were.

use std::collections::HashSet;
use std::ffi::OsString;

use clap::CommandFactory;

use crate::cli::Cli;

/// The arguments with every single-dashed long flag given its second dash.
pub(crate) fn doubled(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let known = long_flags();
    let mut verbatim = false;
    let mut double = |argument: OsString| {
        verbatim |= argument == "--";
        if verbatim { argument } else { double_if_known(argument, &known) }
    };
    arguments.map(&mut double).collect()
}

fn double_if_known(argument: OsString, known: &HashSet<String>) -> OsString {
    match argument.to_str().and_then(single_dashed_name) {
        Some(name) if known.contains(name) => {
            let mut doubled = OsString::from("-");
            doubled.push(&argument);
            doubled
        }
        _ => argument,
    }
}

fn single_dashed_name(argument: &str) -> Option<&str> {
    let name = argument.strip_prefix('-')?.split('=').next()?;
    (name.len() > 1 && !name.starts_with('-')).then_some(name)
}

fn long_flags() -> HashSet<String> {
    let mut names = HashSet::new();
    collect_long_flags(&Cli::command(), &mut names);
    names
}

fn collect_long_flags(command: &clap::Command, names: &mut HashSet<String>) {
    for flag in command.get_arguments() {
        let flags = flag.get_long_and_visible_aliases().unwrap_or_default();
        names.extend(flags.into_iter().map(str::to_owned));
    }
    for subcommand in command.get_subcommands() {
        collect_long_flags(subcommand, names);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubled_words(line: &str) -> String {
        let doubled = doubled(line.split(' ').map(OsString::from));
        let words: Vec<_> = doubled.iter().map(|word| word.to_str().unwrap()).collect();
        words.join(" ")
    }

    #[test]
    fn long_names_and_aliases_get_their_second_dash() {
        assert_eq!(
            doubled_words("smctl -tcp ca.pem -address=a:1"),
            "smctl --tcp ca.pem --address=a:1"
        );
        assert_eq!(doubled_words("smctl shard inspect -sk 7"), "smctl shard inspect --sk 7");
    }

    #[test]
    fn everything_else_stays() {
        for line in ["smctl -n ns ns ls -j", "smctl --address a:1", "smctl -nx", "smctl -- -tcp"] {
            assert_eq!(doubled_words(line), line);
        }
    }
}
