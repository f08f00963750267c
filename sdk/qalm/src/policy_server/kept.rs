//! The server's last policy on disk: a policy file whose first line says what it
//! is. Whole or not at all: written beside, flushed, renamed.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::policy_file::{Loaded, MAX_BYTES, version};

/// What the first line begins with, as in what `plimsoll policy get` writes.
const MARK: &str = "# plimsoll policy: service ";

/// Where the last policy of a service is kept.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    path: PathBuf,
    service: String,
}

impl Kept {
    pub(super) fn new(path: PathBuf, service: &str) -> Self {
        Self { path, service: service.to_owned() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The policy and its revision, if there is one that can be used. One that
    /// cannot be is reported.
    pub(super) fn recall(&self) -> Option<(Loaded, u64)> {
        match self.read() {
            Ok(kept) => kept,
            Err(reason) => {
                let path = self.path.display();
                tracing::error!(%path, reason, "the policy that was kept is passed over");
                None
            }
        }
    }

    /// `None`: nothing was kept yet.
    fn read(&self) -> Result<Option<(Loaded, u64)>, String> {
        let size = match fs::metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.to_string()),
            Ok(metadata) => metadata.len(),
        };
        if size > MAX_BYTES {
            return Err(format!("it is longer than {MAX_BYTES} bytes"));
        }
        let whole = fs::read_to_string(&self.path).map_err(|error| error.to_string())?;
        let (text, revision) = self.parse(&whole)?;
        let policy = Loaded::edit(&self.path, text).map_err(|error| error.to_string())?;
        Ok(Some((policy, revision)))
    }

    /// The text and its revision.
    fn parse<'a>(&self, whole: &'a str) -> Result<(&'a str, u64), String> {
        let (head, text) = whole.split_once('\n').unwrap_or((whole, ""));
        let head = head.strip_prefix(MARK).ok_or("its first line is not one that was kept")?;
        let fields = head.rsplit_once(", sum ").and_then(|(rest, sum)| {
            let (service, revision) = rest.rsplit_once(", revision ")?;
            Some((service, revision.parse::<u64>().ok()?, sum))
        });
        let (service, revision, known) = fields.ok_or("its first line is broken")?;
        if service != format!("{:?}", self.service) {
            return Err(format!("it is that of the service {service}"));
        }
        if sum(revision, text) != known {
            return Err("it is not what was kept: cut off, or edited".to_owned());
        }
        Ok((text, revision))
    }

    /// Keeps a policy. What was kept before stays until this one is whole.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub(crate) fn write(&self, revision: u64, text: &str) -> io::Result<()> {
        let folder = self.path.parent().filter(|it| !it.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let new = folder.join(self.name_beside());
        let written = self.write_whole(&new, revision, text);
        let renamed = written.and_then(|()| fs::rename(&new, &self.path));
        if renamed.is_err() {
            // It may not even be there.
            let _ = fs::remove_file(&new);
        }
        renamed?;
        // So that the name is there too after a power failure.
        File::open(folder)?.sync_all()
    }

    fn write_whole(&self, path: &Path, revision: u64, text: &str) -> io::Result<()> {
        let (service, sum) = (&self.service, sum(revision, text));
        let mut file = File::create_new(path)?;
        let head = format!("{MARK}{service:?}, revision {revision}, sum {sum}\n");
        file.write_all(head.as_bytes())?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }

    /// A name that no other process that keeps the same file takes.
    fn name_beside(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        format!(".{name}.{:016x}.new", RandomState::new().hash_one(std::process::id()))
    }
}

/// Of everything that must not change on the disk.
fn sum(revision: u64, text: &str) -> String {
    version(&format!("{revision} {text}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "default_criticality = 4\n";

    fn kept(folder: &Path) -> Kept {
        Kept::new(folder.join("policy.toml"), "menu")
    }

    #[test]
    fn what_was_kept_is_recalled_and_is_a_policy_file() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Kept::new(folder.path().join("new/folder/policy.toml"), "menu");
        assert!(kept.recall().is_none());
        for revision in [7, 8] {
            kept.write(revision, TEXT).unwrap();
            assert_eq!(kept.recall().unwrap().1, revision);
        }
        let file = Loaded::read(kept.path()).unwrap();
        assert_eq!(file.table.policy().default_criticality.level(), 4);
        let beside = fs::read_dir(kept.path().parent().unwrap()).unwrap().count();
        assert_eq!(beside, 1, "nothing is left beside it");
    }

    #[test]
    fn another_services_policy_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        kept(folder.path()).write(7, TEXT).unwrap();
        let other = Kept::new(folder.path().join("policy.toml"), "orders");
        assert!(other.read().unwrap_err().contains("\"menu\""));
    }

    #[test]
    fn an_invalid_policy_and_what_is_no_file_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let kept = kept(folder.path());
        kept.write(7, "criticality = 4\n").unwrap();
        assert!(kept.read().unwrap_err().contains("there is no \"criticality\""));
        fs::write(kept.path(), [0xff, 0xfe]).unwrap();
        assert!(kept.recall().is_none());
        let folder = Kept::new(folder.path().to_owned(), "menu");
        assert!(folder.recall().is_none());
        assert!(folder.write(1, TEXT).is_err());
    }

    #[test]
    fn a_service_may_be_called_anything() {
        let folder = tempfile::tempdir().unwrap();
        let odd = "a\n, revision 9, sum x\"";
        let kept = Kept::new(folder.path().join("policy.toml"), odd);
        kept.write(3, TEXT).unwrap();
        assert_eq!(kept.recall().unwrap().1, 3);
    }

    proptest! {
        #[test]
        fn no_cut_and_no_flipped_bit_goes_unnoticed(at in 0usize..1000, bit in 0u8..7) {
            let folder = tempfile::tempdir().unwrap();
            let kept = kept(folder.path());
            kept.write(7, TEXT).unwrap();
            let whole = fs::read(kept.path()).unwrap();
            let at = at % whole.len();
            fs::write(kept.path(), &whole[..at]).unwrap();
            prop_assert!(kept.recall().is_none());
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << bit;
            fs::write(kept.path(), &flipped).unwrap();
            prop_assert!(kept.recall().is_none());
        }
    }
}
