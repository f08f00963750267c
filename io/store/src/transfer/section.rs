//! The part of an export that holds one namespace, or the policy of one service:
//! counted and hashed line by line.

use xxhash_rust::xxh3::Xxh3;

use super::lines::Line;

/// What has passed of it.
#[derive(Default)]
pub(super) struct Section {
    hash: Xxh3,
    lines: u64,
}

impl Section {
    /// Counts a line, given without the newline.
    pub(super) fn pass(&mut self, line: &[u8]) {
        self.hash.update(line);
        self.hash.update(b"\n");
        self.lines += 1;
    }

    /// All lines but the first.
    pub(super) fn records(&self) -> u64 {
        self.lines.saturating_sub(1)
    }

    /// The line that has to end a namespace.
    pub(super) fn end(&self) -> Line {
        Line::EndOfNamespace { records: self.records(), xxh3: self.hash_in_hex() }
    }

    /// The line that has to end a policy.
    pub(super) fn end_of_policy(&self) -> Line {
        Line::EndOfPolicy { revisions: self.records(), xxh3: self.hash_in_hex() }
    }

    /// What does not agree with what its end says.
    pub(super) fn check(&self, records: u64, xxh3: &str) -> Result<(), String> {
        if records != self.records() {
            return Err(format!("{} records have come, not {records}", self.records()));
        }
        if xxh3 != self.hash_in_hex() {
            return Err("the hash of what has come is another".to_owned());
        }
        Ok(())
    }

    fn hash_in_hex(&self) -> String {
        format!("{:032x}", self.hash.digest128())
    }
}
