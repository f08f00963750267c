//! `smctl`: the operator's command line for a shard manager.
//!
//! It keeps the commands, flags, output and exit codes of the Go tool of that
//! name, so that scripts go on working, and adds what that tool lacks. It holds
//! no state and decides nothing: every command is a few calls and a printout.
//! Data goes to stdout, talk to stderr.

mod app;
mod cli;
mod commands;
mod figures;
mod go_duration;
mod go_json;
mod go_time;
mod go_views;
mod natural_order;
mod os_user;
mod output;
mod printable;
mod problem;
mod prompt;
mod rpc_error;
mod server;
mod session;
mod settings;
mod single_dash;
mod snapshot_file;
mod tabwriter;

use std::process::ExitCode;

fn main() -> ExitCode {
    app::main(std::env::args_os())
}
