//! The `plimsoll` binary: the server alone, or everything at once to look at.

mod dev;
mod kept;
mod loadtest;
mod log_filter;
mod policy;
mod proxy;
mod serve;
mod store;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Keeps the work of a sharded service evenly loaded, and keeps it answering.
#[derive(Debug, Parser)]
#[command(name = "plimsoll", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the shard manager.
    Server(Box<serve::Options>),
    /// Run a server, executors and a spectator on this machine, and watch them.
    Dev(dev::Options),
    /// Send load to a service, open-loop, and measure how it answers.
    Loadtest(Box<loadtest::Options>),
    /// Stand in front of a service and shed what it cannot carry, least critical first.
    Proxy(Box<proxy::Options>),
    /// Say what a policy file does; list, change and preview the policies of services.
    #[command(subcommand)]
    Policy(policy::Command),
    /// Say what a running server logs, or change it.
    LogFilter(log_filter::Options),
    /// Carry all of a store away as text, or back.
    #[command(subcommand)]
    Store(Box<store::Command>),
}

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Server(options) => serve::run(*options),
        Command::Dev(options) => dev::run(options),
        Command::Loadtest(options) => loadtest::run(&options),
        Command::Proxy(options) => proxy::run(*options),
        Command::Policy(command) => policy::run(&command),
        Command::LogFilter(options) => log_filter::run(&options),
        Command::Store(command) => store::run(*command),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("plimsoll: {}", told_once(&error));
            ExitCode::FAILURE
        }
    }
}

/// An error with its causes, without those that the text before them has told.
fn told_once(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |told, cause| {
        let cause = cause.to_string();
        if told.is_empty() {
            cause
        } else if told.contains(cause.trim_end()) {
            told
        } else {
            format!("{told}: {cause}")
        }
    })
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_cause_is_told_once() {
        let error = anyhow!("no such file").context("cannot read x: no such file").context("top");
        assert_eq!(told_once(&error), "top: cannot read x: no such file");
    }
}
