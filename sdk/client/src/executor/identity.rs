//! Who an executor says it is. The rules are the wire's; a name that breaks them
//! is refused here, where it can be told to whom it belongs, except the machine's
//! own, which is made to fit as the Go client does it.

use std::env;
use std::fs;

use crate::ConnectError;

const LONGEST_HOST: usize = 128;
const LONGEST_ID: usize = 256;

#[derive(Clone, Debug)]
pub(super) struct Identity {
    pub(super) namespace: String,
    pub(super) id: String,
    pub(super) host: String,
}

impl Identity {
    pub(super) fn new(
        namespace: String,
        id: Option<String>,
        host: Option<String>,
    ) -> Result<Self, ConnectError> {
        let host = host.unwrap_or_else(|| fitting(&hostname()));
        let id = id.unwrap_or_else(|| format!("{host}@{:032x}", rand::random::<u128>()));
        check("namespace", &namespace, LONGEST_HOST, "/")?;
        check("host", &host, LONGEST_HOST, "/@")?;
        check("executor id", &id, LONGEST_ID, "/")?;
        Ok(Self { namespace, id, host })
    }

    /// The namespace and the executor, for a line of the log.
    pub(super) fn names(&self) -> (&str, &str) {
        (&self.namespace, &self.id)
    }
}

fn check(
    name: &'static str,
    value: &str,
    longest: usize,
    forbidden: &str,
) -> Result<(), ConnectError> {
    let bad = |why| Err(ConnectError::BadIdentity { name, value: value.to_owned(), why });
    if value.is_empty() {
        return bad("it is empty");
    }
    if value.len() > longest {
        return bad("it is too long");
    }
    if value.contains(|letter| forbidden.contains(letter)) {
        return bad("it contains a reserved character");
    }
    Ok(())
}

/// As the kernel has it; containers may know it only from the environment.
fn hostname() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname")
        .or_else(|_| env::var("HOSTNAME"))
        .map(|name| name.trim().to_owned())
        .ok()
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "localhost".to_owned())
}

fn fitting(hostname: &str) -> String {
    let mut host = hostname.replace(['/', '@'], "_");
    host.truncate(host.floor_char_boundary(LONGEST_HOST));
    host
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_made_of_the_host_and_chance() {
        let one = Identity::new("n".into(), None, Some("h".into())).unwrap();
        let two = Identity::new("n".into(), None, Some("h".into())).unwrap();
        assert!(one.id.starts_with("h@") && two.id.starts_with("h@"));
        assert_ne!(one.id, two.id);
    }

    #[test]
    fn a_hostname_is_made_to_fit() {
        assert_eq!(fitting("rack/7@lab"), "rack_7_lab");
        assert_eq!(fitting(&"ü".repeat(100)).len(), 128);
        assert!(Identity::new("n".into(), None, None).is_ok());
    }

    #[test]
    fn a_given_name_that_breaks_the_rules_is_refused() {
        let refused = Identity::new("n".into(), None, Some("a@b".into())).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "host \"a@b\" is not allowed: it contains a reserved character"
        );
        assert!(Identity::new(String::new(), None, None).is_err());
        assert!(Identity::new("n".into(), Some("x".repeat(257)), None).is_err());
    }
}
