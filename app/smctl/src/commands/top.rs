//! `top`: executors with their load against the bands, and the hottest shards,
//! once a second.
//!
//! Without a terminal, or with `--once`, it prints one plain picture and ends.

mod frame;
mod live;
mod picture;
mod view;

use std::io::IsTerminal;

use anyhow::Result;
use clap::Args;

use crate::output;
use crate::session::Session;
use picture::Picture;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Print one picture and exit
    #[arg(long)]
    once: bool,

    /// With --once: print JSON
    #[arg(long, short = 'j', requires = "once")]
    json: bool,

    /// How many of the hottest shards to show
    #[arg(long, value_name = "N", default_value_t = 10)]
    shards: u32,
}

pub(crate) async fn run(session: &Session, arguments: &Arguments) -> Result<()> {
    let namespace = session.namespace()?;
    let server = session.server()?;
    let picture = Picture::take(&server, &namespace, arguments.shards).await?;
    if arguments.json {
        return output::print_json(&view::View::from(picture));
    }
    if arguments.once || !std::io::stdout().is_terminal() {
        return output::print(&frame::plain(&picture));
    }
    live::run(&server, picture, arguments.shards).await
}
