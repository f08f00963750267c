//! What callers may write: names, and what people write about an edit.

use plimsoll_wire::v1;

use super::Fault;

const MAX_NAME: usize = 128;
const MAX_INSTANCE: usize = 256;
const MAX_VERSION: usize = 128;
/// A sentence or two: it is stored with every revision.
const MAX_TEXT: usize = 1024;

/// Checks the name of a service.
pub(super) fn service(name: &str) -> Result<(), Fault> {
    let fits = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(fits) {
        return Err(Fault::Wrong(format!(
            "{name:?} is not a name for a service: use 1 to {MAX_NAME} letters, digits, `-`, `_` and `.`"
        )));
    }
    Ok(())
}

/// Checks what an instance says of itself.
pub(super) fn instance(hello: &v1::SyncHello) -> Result<(), Fault> {
    bounded("instance", &hello.instance, MAX_INSTANCE)?;
    bounded("version", &hello.version, MAX_VERSION)?;
    bounded("text_version", &hello.text_version, MAX_VERSION)?;
    if hello.instance.is_empty() {
        return Err(Fault::Wrong("an instance needs a name: its host and process, say".to_owned()));
    }
    Ok(())
}

/// Checks who edits, and why.
pub(super) fn edit(author: &str, comment: &str) -> Result<(), Fault> {
    bounded("author", author, MAX_NAME)?;
    bounded("comment", comment, MAX_TEXT)
}

/// Control characters would be printed to terminals.
fn bounded(what: &str, text: &str, most: usize) -> Result<(), Fault> {
    if text.len() > most || text.contains(char::is_control) {
        return Err(Fault::Wrong(format!(
            "invalid {what} of {} bytes: at most {most} without control characters are allowed",
            text.len()
        )));
    }
    Ok(())
}

/// What an instance says went wrong, cut to what is kept, without what would steer a
/// terminal.
pub(super) fn cut(text: &str) -> String {
    let end = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let fits = end.take_while(|end| *end <= MAX_TEXT).last().unwrap_or(0);
    text[..fits].replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        for good in ["menu", "orders.v1.Orders", "a-b_c.9"] {
            assert!(service(good).is_ok(), "{good}");
        }
        for bad in ["", "a b", "a/b", "ü", "a\n", &"x".repeat(129)] {
            assert!(service(bad).is_err(), "{bad:?}");
        }
        assert!(edit("ada", "why\u{1b}[2J").is_err());
    }

    #[test]
    fn what_went_wrong_is_cut_and_harmless() {
        assert_eq!(cut("a\nb"), "a b");
        assert_eq!(cut(&"ü".repeat(1000)).len(), 1024);
    }
}
