//! A process that is started again and again under one name.

use std::fs::{File, OpenOptions};
use std::io::{self, PipeWriter, pipe};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};

use super::Moment;
use crate::eventually;

/// Has the kernel end the process when the one that started it is gone.
const WITH_ITS_PARENT: [&str; 3] = ["setpriv", "--pdeathsig", "KILL"];

/// A program with its arguments, and the process that runs it if one does. What
/// it prints goes to a file, one for all its lives. Killed when it is dropped.
#[derive(Debug)]
pub struct Process {
    name: String,
    program: PathBuf,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    /// What starts it, with arguments of its own.
    starter: Vec<String>,
    /// The file of a control group that takes its id.
    group: Option<PathBuf>,
    output: PathBuf,
    child: Option<Child>,
    paused: bool,
}

impl Process {
    /// A process that is not started yet.
    pub fn new(name: &str, program: &Path, arguments: Vec<String>, output: PathBuf) -> Self {
        let (name, program) = (name.to_owned(), program.to_owned());
        let (variables, starter) = (Vec::new(), Vec::new());
        let (group, child, paused) = (None, None, false);
        Self { name, program, arguments, variables, starter, group, output, child, paused }
    }

    /// Started by another program, which becomes it.
    #[must_use]
    pub fn started_by(mut self, starter: Vec<String>) -> Self {
        self.starter = starter;
        self
    }

    /// Put into a control group, by the file that takes its id, as soon as it runs.
    #[must_use]
    pub fn in_group(mut self, group: PathBuf) -> Self {
        self.group = Some(group);
        self
    }

    /// With a variable of the environment, which is empty otherwise but for `PATH`.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// As logs call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it prints to.
    pub fn output(&self) -> &Path {
        &self.output
    }

    /// Starts it. Does not wait until it is of any use.
    ///
    /// # Errors
    /// It runs already, or cannot be started.
    pub fn start(&mut self) -> Result<()> {
        ensure!(!self.is_running(), "{} runs already", self.name);
        let (mut heard, said) = pipe()?;
        let mut output = self.open_output()?;
        let mut command = self.command(said)?;
        let child = command.spawn().with_context(|| format!("cannot start {}", self.name))?;
        if let Some(group) = &self.group {
            let put = std::fs::write(group, child.id().to_string());
            put.with_context(|| format!("cannot put {} into its group", self.name))?;
        }
        // Ends with the process, whose end of the pipe is the last.
        std::thread::spawn(move || io::copy(&mut heard, &mut output));
        (self.child, self.paused) = (Some(child), false);
        Ok(())
    }

    /// What it prints goes through a pipe: no limit on its files must keep it from
    /// saying why it ends.
    fn command(&self, said: PipeWriter) -> Result<Command> {
        let parent = WITH_ITS_PARENT.map(str::to_owned);
        let mut starters = self.starter.iter().chain(&parent);
        let mut command = Command::new(starters.next().context("nothing starts it")?);
        command.args(starters).arg(&self.program).args(&self.arguments);
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().env("PATH", path).envs(self.variables.iter().cloned());
        command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said);
        Ok(command)
    }

    fn open_output(&self) -> Result<File> {
        let open = OpenOptions::new().append(true).create(true).open(&self.output);
        open.with_context(|| format!("cannot write {}", self.output.display()))
    }

    /// Whether it has been started and has not ended, be it paused.
    pub fn is_running(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// Whether it was stopped by [`pause`](Self::pause).
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// `kill -9`, and waits until it is gone; gives when it was. One that does not
    /// run is left as it is.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn kill(&mut self) -> Result<Moment> {
        if let Some(mut child) = self.child.take() {
            child.kill()?;
            child.wait()?;
        }
        self.paused = false;
        Ok(Moment::now())
    }

    /// SIGTERM.
    ///
    /// # Errors
    /// It does not run.
    pub fn terminate(&self) -> Result<()> {
        self.signal(Signal::TERM)
    }

    /// SIGSTOP: it stands still from here on, and does not know.
    ///
    /// # Errors
    /// It does not run.
    pub fn pause(&mut self) -> Result<()> {
        self.signal(Signal::STOP)?;
        self.paused = true;
        Ok(())
    }

    /// SIGCONT.
    ///
    /// # Errors
    /// It does not run.
    pub fn resume(&mut self) -> Result<()> {
        self.paused = false;
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let told = kill_process(self.pid()?, signal);
        told.with_context(|| format!("cannot signal {}", self.name))
    }

    fn pid(&self) -> Result<Pid> {
        let child = self.child.as_ref().with_context(|| format!("{} is not there", self.name))?;
        Ok(Pid::from_child(child))
    }

    /// Lets it write no byte of a file beyond this one, as on a disk that is full,
    /// until it is started anew.
    ///
    /// # Errors
    /// It does not run, or the kernel refuses.
    pub fn limit_files(&self, bytes: u64) -> Result<()> {
        let limit = Rlimit { current: Some(bytes), maximum: None };
        prlimit(Some(self.pid()?), Resource::Fsize, limit)?;
        Ok(())
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// It does not run, or it cannot be waited for.
    ///
    /// # Panics
    /// It goes on for longer.
    pub async fn ended(&mut self, within: Duration) -> Result<ExitStatus> {
        let mut child = self.child.take().with_context(|| format!("{} is not there", self.name))?;
        let end = || std::future::ready(child.try_wait().transpose());
        Ok(eventually(within, "the process ends", end).await?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.kill();
    }
}
