//! What an experiment found, and the forms in which it is given: a table, CSV,
//! SVG, JSON. An experiment says what; this says how it looks.

mod chart;
mod table;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;
use serde_json::Value;

pub use chart::{Bars, Chart, Curve, Curves};
pub use table::Table;

/// Where results go besides the table.
#[derive(Args, Clone, Debug, Default)]
pub struct Output {
    /// Write the table as CSV to this file
    #[arg(long, value_name = "FILE", global = true)]
    pub csv: Option<PathBuf>,
    /// Draw the result as SVG into this file
    #[arg(long, value_name = "FILE", global = true)]
    pub svg: Option<PathBuf>,
    /// Print JSON instead of the table, an object a line
    #[arg(long, global = true)]
    pub json: bool,
}

/// What an experiment found.
#[derive(Debug, Default)]
pub struct Report {
    /// Above the table: what was done, in a sentence.
    pub title: String,
    pub table: Table,
    /// Below the table, a line each.
    pub notes: Vec<String>,
    /// One object a line.
    pub json: Vec<Value>,
    pub chart: Option<Chart>,
}

impl Report {
    /// A report of these columns.
    pub fn new(title: impl Into<String>, columns: &[&str]) -> Self {
        Self { title: title.into(), table: Table::new(columns), ..Self::default() }
    }

    /// Adds a line to the table and to the JSON.
    ///
    /// # Errors
    ///
    /// What the record is made of cannot be written as JSON.
    pub fn line(&mut self, cells: Vec<String>, record: impl Serialize) -> Result<()> {
        self.table.row(cells);
        self.json.push(serde_json::to_value(record).context("cannot write a line as JSON")?);
        Ok(())
    }

    /// Gives it in every form that was asked for.
    ///
    /// # Errors
    ///
    /// A file cannot be written, or there is nothing to draw.
    pub fn emit(&self, output: &Output) -> Result<()> {
        if output.json {
            self.json.iter().for_each(|line| println!("{line}"));
        } else {
            println!("{}\n\n{}", self.title, self.table);
            self.notes.iter().for_each(|note| println!("{note}"));
        }
        if let Some(path) = &output.csv {
            write(path, &self.table.to_csv())?;
        }
        if let Some(path) = &output.svg {
            let chart =
                self.chart.as_ref().context("this experiment draws nothing: leave --svg out")?;
            write(path, &chart.to_svg()?)?;
        }
        Ok(())
    }

    /// Writes the JSON, an object a line.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn save_json(&self, path: &Path) -> Result<()> {
        let lines: Vec<String> = self.json.iter().map(|line| format!("{line}\n")).collect();
        write(path, &lines.concat())
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    eprintln!("wrote {}", path.display());
    Ok(())
}
