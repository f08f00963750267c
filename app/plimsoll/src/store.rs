//! `plimsoll store`: all of a store as text, and back.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use plimsoll_server::config::StoreKind;
use plimsoll_server::{Config, open_store};
use plimsoll_store::{Present, Transferred, export, import};
use tokio::fs::File;
use tokio::io::{AsyncBufRead, AsyncWrite, BufReader, BufWriter};

use crate::kept;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write every namespace and policy of a store to a file, as lines of JSON.
    ///
    /// With etcd servers may go on meanwhile; with the file store stop the server first.
    Export(ExportOptions),
    /// Read such a file into a store. Stop the servers first.
    Import(ImportOptions),
}

#[derive(Args, Debug)]
pub(crate) struct ExportOptions {
    #[command(flatten)]
    kept: kept::StoreOptions,
    /// Where to; standard output if there is none
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct ImportOptions {
    #[command(flatten)]
    kept: kept::StoreOptions,
    /// Where from; standard input if there is none
    #[arg(long, short, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Put what is imported in the place of namespaces that have records, and of policies
    #[arg(long)]
    replace: bool,
}

pub(crate) fn run(command: Command) -> Result<ExitCode> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let (what, transferred) = match command {
        Command::Export(options) => ("exported", runtime.block_on(write(options))?),
        Command::Import(options) => ("imported", runtime.block_on(read(options))?),
    };
    let Transferred { namespaces, records, policies, revisions } = transferred;
    eprintln!(
        "{what} {namespaces} namespaces with {records} records, and {policies} policies with \
         {revisions} revisions"
    );
    Ok(ExitCode::SUCCESS)
}

async fn write(options: ExportOptions) -> Result<Transferred> {
    let store = open_store(&remembering(options.kept)?).await?;
    let out: Box<dyn AsyncWrite + Send + Unpin> = match &options.output {
        None => Box::new(tokio::io::stdout()),
        Some(path) => Box::new(File::create(path).await.with_context(|| {
            format!("cannot write {}; check the folder and who may write there", path.display())
        })?),
    };
    Ok(export(&*store, BufWriter::new(out)).await?)
}

async fn read(options: ImportOptions) -> Result<Transferred> {
    let store = open_store(&remembering(options.kept)?).await?;
    let input: Box<dyn AsyncBufRead + Send + Unpin> = match &options.input {
        None => Box::new(BufReader::new(tokio::io::stdin())),
        Some(path) => Box::new(BufReader::new(File::open(path).await.with_context(|| {
            format!("cannot read {}; check the path given with --input", path.display())
        })?)),
    };
    let present = if options.replace { Present::Replace } else { Present::Refuse };
    Ok(import(&*store, input, present).await?)
}

fn remembering(kept: kept::StoreOptions) -> Result<Config> {
    let config = kept.configuration()?;
    if config.store == StoreKind::Memory {
        bail!("the memory store holds nothing beyond its server: say --store file or --store etcd");
    }
    Ok(config)
}
