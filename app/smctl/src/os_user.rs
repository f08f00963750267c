//! The name of the user who runs `smctl`: drains remember it.
//!
//! Reads /proc and /etc/passwd instead of calling the C library; users that only
//! a directory service knows come from `USER`.

use std::fs;
use std::os::unix::fs::MetadataExt;

/// Empty if nothing tells.
pub(crate) fn name() -> String {
    name_in_passwd().or_else(|| std::env::var("USER").ok()).unwrap_or_default()
}

fn name_in_passwd() -> Option<String> {
    let uid = fs::metadata("/proc/self").ok()?.uid();
    name_of(uid, &fs::read_to_string("/etc/passwd").ok()?)
}

fn name_of(uid: u32, passwd: &str) -> Option<String> {
    let uid = uid.to_string();
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == uid).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_user_by_number() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nbroken\nann:x:1000:1000::/home/ann:/bin/sh\n";
        assert_eq!(name_of(1000, passwd).as_deref(), Some("ann"));
        assert_eq!(name_of(7, passwd), None);
    }
}
