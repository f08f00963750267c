//! A small disk of its own: it can be filled to the last block, and slowed so that a
//! write that must be durable takes its time.
//!
//! An ext4 in a file, behind a loop device; the block layer holds back the writes of a
//! control group. For a process that was started by [`alone`](super::alone): the mount
//! is its own and goes with it.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::fs::{FallocateFlags, fallocate, major, minor, statvfs};
use rustix::io::Errno;

use super::network::run;

/// Where control groups are: the first version's controller of block devices, and the
/// second version.
const FIRST: &str = "/sys/fs/cgroup/blkio";
const SECOND: &str = "/sys/fs/cgroup";
const BLOCK: u64 = 4096;

/// A disk that is mounted for as long as this lives.
#[derive(Debug)]
pub struct Disk {
    folder: PathBuf,
    group: Group,
}

/// Processes whose writes to the disk can be held back.
#[derive(Debug)]
struct Group {
    folder: PathBuf,
    is_first: bool,
    /// As control groups call the disk: "7:0".
    device: String,
}

impl Disk {
    /// A disk of so many bytes at `folder`, with its file beside it.
    ///
    /// # Errors
    /// The kernel refuses; or `mkfs.ext4` or control groups are missing.
    pub fn make(folder: &Path, bytes: u64) -> Result<Self> {
        let image = folder.with_extension("image");
        File::create_new(&image)?.set_len(bytes)?;
        std::fs::create_dir(folder)?;
        let (image, at) = (image.display().to_string(), folder.display().to_string());
        // No block is kept for root, who we are.
        let block = BLOCK.to_string();
        run("mkfs.ext4", &["-q", "-F", "-m", "0", "-b", &block, &image], "")?;
        run("mount", &["-o", "loop", &image, &at], "")?;
        // From here on it is unmounted whatever comes.
        let mut disk = Self { folder: folder.to_owned(), group: Group::none() };
        disk.group = Group::of(folder)?;
        Ok(disk)
    }

    /// Where it is mounted.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file that takes the id of a process whose writes are to be held back.
    pub fn group(&self) -> PathBuf {
        self.group.folder.join("cgroup.procs")
    }

    /// Takes every block that is free.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn fill(&self) -> Result<()> {
        let (junk, mut length) = (File::create(self.junk())?, 0);
        let mut piece = statvfs(&self.folder)?.f_bavail * BLOCK;
        while piece >= BLOCK {
            match fallocate(&junk, FallocateFlags::empty(), length, piece) {
                Ok(()) => length += piece,
                Err(Errno::NOSPC) => piece = piece / 2 / BLOCK * BLOCK,
                Err(error) => return Err(error).context("the disk cannot be filled"),
            }
        }
        Ok(())
    }

    /// Gives back what [`fill`](Self::fill) took.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn make_room(&self) -> Result<()> {
        Ok(std::fs::remove_file(self.junk())?)
    }

    /// Lets the group write so often a second, or as often as it likes.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn slow(&self, writes_a_second: Option<u32>) -> Result<()> {
        self.group.limit(writes_a_second)
    }

    fn junk(&self) -> PathBuf {
        self.folder.join("junk")
    }
}

impl Group {
    fn none() -> Self {
        Self { folder: PathBuf::new(), is_first: true, device: String::new() }
    }

    fn of(disk: &Path) -> Result<Self> {
        let is_first = Path::new(FIRST).join("blkio.throttle.write_iops_device").exists();
        if !is_first {
            std::fs::write(Path::new(SECOND).join("cgroup.subtree_control"), "+io")
                .context("there is no control group that holds back writes")?;
        }
        let name = disk.file_name().context("the disk is mounted at /")?.display();
        let name = format!("plimsoll-{}-{name}", std::process::id());
        let folder = Path::new(if is_first { FIRST } else { SECOND }).join(name);
        std::fs::create_dir(&folder)
            .with_context(|| format!("cannot make a control group {}", folder.display()))?;
        let device = std::fs::metadata(disk)?.dev();
        let group =
            Self { folder, is_first, device: format!("{}:{}", major(device), minor(device)) };
        // Whether it obeys is known at once.
        group.limit(None)?;
        Ok(group)
    }

    fn limit(&self, writes_a_second: Option<u32>) -> Result<()> {
        let (file, limit) = match (self.is_first, writes_a_second) {
            (true, limit) => ("blkio.throttle.write_iops_device", limit.unwrap_or(0).to_string()),
            (false, Some(limit)) => ("io.max", format!("wiops={limit}")),
            (false, None) => ("io.max", "wiops=max".to_owned()),
        };
        let file = self.folder.join(file);
        let written = std::fs::write(&file, format!("{} {limit}", self.device));
        written.with_context(|| format!("cannot write {}", file.display()))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Whoever wrote to it is gone; what is left goes with the namespace of mounts.
        let _ = run("umount", &[&self.folder.display().to_string()], "");
        let _ = std::fs::remove_dir(&self.group.folder);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Write};
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::chaos::alone;

    const SIZE: u64 = 16 * 1024 * 1024;
    const NAME: &str = "chaos::disk::tests::inside";

    #[test]
    fn a_disk_is_full_when_it_is_filled_and_slow_when_it_is_slowed() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = alone();
        command.arg(std::env::current_exe().unwrap());
        command.args(["--exact", NAME, "--ignored", "--nocapture"]);
        let ended = command.env("PLIMSOLL_TEST_DISK", folder.path()).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stdout) + String::from_utf8_lossy(&ended.stderr);
        if said.contains("not tested") || !said.contains("running 1 test") {
            return eprintln!("no disk can be made here: {said}");
        }
        assert!(ended.status.success(), "{said}");
    }

    #[test]
    #[ignore = "started by another test, with mounts of its own"]
    fn inside() {
        let Some(folder) = std::env::var_os("PLIMSOLL_TEST_DISK") else { return };
        let folder = PathBuf::from(folder).join("disk");
        let disk = match Disk::make(&folder, SIZE) {
            Ok(disk) => disk,
            Err(why) => return println!("not tested: {why:#}"),
        };
        disk.fill().unwrap();
        let full = std::fs::write(folder.join("more"), [7; 8192]).unwrap_err();
        assert_eq!(full.kind(), ErrorKind::StorageFull);
        disk.make_room().unwrap();
        std::fs::write(folder.join("more"), [7; 8192]).unwrap();

        let group = disk.group();
        std::fs::write(group, std::process::id().to_string()).unwrap();
        let write = || {
            let begun = Instant::now();
            let mut file = File::create(folder.join("durable")).unwrap();
            for _ in 0..4 {
                file.write_all(&[7; 4096]).unwrap();
                file.sync_data().unwrap();
            }
            begun.elapsed()
        };
        disk.slow(Some(4)).unwrap();
        assert!(write() > Duration::from_millis(500), "four a second");
        disk.slow(None).unwrap();
        assert!(write() < Duration::from_millis(500), "as often as it likes");
        // So that the group can be removed.
        let out = if Path::new(FIRST).exists() { FIRST } else { SECOND };
        let out = Path::new(out).join("cgroup.procs");
        std::fs::write(out, std::process::id().to_string()).unwrap();
        drop(disk);
        assert!(!Command::new("mountpoint").arg("-q").arg(&folder).status().unwrap().success());
    }
}
