//! What the machine allows: packets that are dropped, and disks of our own; or only
//! what needs no rights. The run says which it was.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::process::CommandExt;
use std::path::Path;

use anyhow::{Context, Result};
use clap::ValueEnum;
use plimsoll_testkit::chaos::{Disk, alone, attempt};

use super::addresses::{ETCD, End};
use super::fault::{Kind, Need};

/// Room for etcd: what it keeps of its log (five files of 64 MB), and its quota.
const DISK_BYTES: u64 = 768 * 1024 * 1024;
/// The hidden option of a run that has its own namespaces.
pub(super) const INSIDE: &str = "--inside";

/// How links are to be cut.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum Cut {
    /// By dropping packets if that is possible, else by relays.
    Auto,
    /// By dropping packets between network namespaces.
    Packets,
    /// By relays, which need no rights.
    Relays,
}

/// What a run stands on.
#[derive(Debug)]
pub(super) struct Ground {
    /// Packets can be dropped, or why not.
    packets: Result<(), String>,
    /// A disk for each member of etcd, or why there is none.
    pub(super) disks: Result<Vec<Disk>, String>,
}

/// Becomes a run with its own namespaces, if it is to be one and can. Comes back with
/// the reason why it cannot.
///
/// # Errors
/// It must be one, and cannot.
pub(super) fn enter(cut: Cut, more: &[OsString]) -> Result<String> {
    if cut == Cut::Relays {
        return Ok("relays were asked for".to_owned());
    }
    match attempt().and_then(|()| become_inside(more)) {
        Err(error) if cut == Cut::Packets => Err(error).context("packets cannot be dropped here"),
        Err(error) => Ok(format!("{error:#}")),
        Ok(never) => match never {},
    }
}

fn become_inside(more: &[OsString]) -> Result<std::convert::Infallible> {
    let lab = std::env::current_exe().context("cannot find this program")?;
    let given = std::env::args_os().skip(1);
    Err(alone().arg(lab).args(given).args(more).arg(INSIDE).exec())
        .context("cannot begin anew with namespaces")
}

impl Ground {
    /// With namespaces: looks whether there can be disks.
    pub(super) fn inside(folder: &Path) -> Self {
        let make = |n| Disk::make(&folder.join(format!("{}.disk", End::Etcd(n))), DISK_BYTES);
        let disks = (0..ETCD).map(make).collect::<Result<_>>();
        Self { packets: Ok(()), disks: disks.map_err(|error| format!("{error:#}")) }
    }

    pub(super) fn outside(why: String) -> Self {
        let disks = Err("they need mounts of our own".to_owned());
        Self { packets: Err(why), disks }
    }

    pub(super) fn drops_packets(&self) -> bool {
        self.packets.is_ok()
    }

    /// Whether this can be done to the system here.
    pub(super) fn allows(&self, kind: Kind) -> bool {
        match kind.needs() {
            None => true,
            Some(Need::Packets) => self.packets.is_ok(),
            Some(Need::Disks) => self.disks.is_ok(),
        }
    }
}

impl fmt::Display for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.packets {
            Ok(()) => write!(f, "links lose packets between network namespaces")?,
            Err(why) => write!(f, "links are cut by relays ({why})")?,
        }
        match &self.disks {
            Ok(_) => write!(f, "; etcd has disks of its own"),
            Err(why) => write!(f, "; etcd has no disks of its own ({why})"),
        }
    }
}
