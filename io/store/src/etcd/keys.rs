//! Where things are in etcd: every key begins with the prefix and a folder, and then
//! names the namespace (or server, or service), whose `/` are escaped.

use std::borrow::Cow;
use std::ops::Range;

use super::EtcdError;

/// Makes keys below a prefix.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    prefix: String,
}

/// One kind of record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Folder {
    /// Records of namespaces.
    Namespaces,
    /// Who made a namespace: tells a creation whose answer was lost from a rival's.
    Creations,
    /// Which epochs are spent; outlives its namespace.
    Epochs,
    /// The last commit: no request that was overtaken by it passes any more.
    LastCommits,
    Floors,
    Grants,
    ShardDrains,
    HostDrains,
    /// Checkpoints of smoothed loads, in parts.
    Loads,
    /// Parts of batches that are too large for one transaction.
    Redo,
    /// Which of those batches is committed.
    Committed,
    /// Servers that are there.
    Servers,
    /// Who leads a namespace.
    Leaders,
    /// The newest revision of a service's policy, without its text.
    PolicyNewest,
    /// Every revision that is kept, without its text.
    PolicyHeads,
    PolicyTexts,
}

impl Keys {
    pub(super) fn new(prefix: Option<&str>) -> Self {
        let mut prefix = prefix.unwrap_or("/plimsoll/").to_owned();
        if !prefix.ends_with('/') {
            prefix.push('/');
        }
        Self { prefix }
    }

    /// The one key of a namespace (or server, or service) in this folder.
    pub(super) fn of(&self, folder: Folder, name: &str) -> Vec<u8> {
        format!("{}{}/{}", self.prefix, folder.as_str(), escaped(name)).into_bytes()
    }

    /// One of the keys of a namespace in this folder.
    pub(super) fn within(&self, folder: Folder, name: &str, rest: &str) -> Vec<u8> {
        format!("{}{}/{}/{rest}", self.prefix, folder.as_str(), escaped(name)).into_bytes()
    }

    /// All keys of a folder.
    pub(super) fn folder(&self, folder: Folder) -> Range<Vec<u8>> {
        prefixed(format!("{}{}/", self.prefix, folder.as_str()))
    }

    /// All keys of a namespace in this folder.
    pub(super) fn all_within(&self, folder: Folder, name: &str) -> Range<Vec<u8>> {
        prefixed(format!("{}{}/{}/", self.prefix, folder.as_str(), escaped(name)))
    }

    /// Those of them that begin with `first/`.
    pub(super) fn part_of(&self, folder: Folder, name: &str, first: &str) -> Range<Vec<u8>> {
        prefixed(format!("{}{}/{}/{first}/", self.prefix, folder.as_str(), escaped(name)))
    }

    /// The name that [`Keys::of`] made this key of.
    pub(super) fn name_of(&self, folder: Folder, key: &[u8]) -> Result<String, EtcdError> {
        Ok(unescaped(rest(key, &format!("{}{}/", self.prefix, folder.as_str()))?))
    }

    /// What follows the namespace in a key of it.
    pub(super) fn rest_of<'a>(
        &self,
        folder: Folder,
        name: &str,
        key: &'a [u8],
    ) -> Result<&'a str, EtcdError> {
        rest(key, &format!("{}{}/{}/", self.prefix, folder.as_str(), escaped(name)))
    }
}

/// A name without `/`, so that no name is the beginning of another's keys.
fn escaped(name: &str) -> Cow<'_, str> {
    if name.contains(['/', '%']) {
        return name.replace('%', "%25").replace('/', "%2F").into();
    }
    name.into()
}

fn unescaped(name: &str) -> String {
    name.replace("%2F", "/").replace("%25", "%")
}

impl Folder {
    fn as_str(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Creations => "creations",
            Self::Epochs => "epochs",
            Self::LastCommits => "last-commits",
            Self::Floors => "floors",
            Self::Grants => "grants",
            Self::ShardDrains => "shard-drains",
            Self::HostDrains => "host-drains",
            Self::Loads => "loads",
            Self::Redo => "redo",
            Self::Committed => "committed",
            Self::Servers => "servers",
            Self::Leaders => "leaders",
            Self::PolicyNewest => "policies/newest",
            Self::PolicyHeads => "policies/heads",
            Self::PolicyTexts => "policies/texts",
        }
    }
}

/// Everything that begins so. A prefix ends with `/`, and `0` is the byte after it.
fn prefixed(prefix: String) -> Range<Vec<u8>> {
    let mut end = prefix.clone().into_bytes();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    prefix.into_bytes()..end
}

fn rest<'a>(key: &'a [u8], prefix: &str) -> Result<&'a str, EtcdError> {
    let rest = key.strip_prefix(prefix.as_bytes()).unwrap_or_default();
    str::from_utf8(rest).map_err(|_| EtcdError::Damaged {
        key: key.escape_ascii().to_string(),
        detail: "its name is not UTF-8".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_does_not_see_one_with_a_longer_name() {
        let keys = Keys::new(None);
        let all = keys.all_within(Folder::Grants, "a");
        assert!(all.contains(&keys.within(Folder::Grants, "a", "0")));
        assert!(all.contains(&keys.within(Folder::Grants, "a", "\u{10ffff}")));
        assert!(!all.contains(&keys.within(Folder::Grants, "ab", "0")));
        assert!(!all.contains(&keys.within(Folder::Grants, "a-b", "0")));
    }

    #[test]
    fn names_come_back() {
        let keys = Keys::new(Some("/x"));
        for name in ["orders", "a/b", "%2F", "100%/%"] {
            let key = keys.within(Folder::Grants, name, "a/b%");
            assert_eq!(keys.rest_of(Folder::Grants, name, &key).unwrap(), "a/b%");
            let key = keys.of(Folder::Namespaces, name);
            assert_eq!(keys.name_of(Folder::Namespaces, &key).unwrap(), name);
        }
    }
}
