//! The line that says which revision a file was made from: `get` writes it, `set` reads
//! it and does not save it. So an edit that somebody else has overtaken is found out.

/// A text that was got from a server, or written by hand.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Draft {
    /// What it was made from, if it says so.
    pub(super) from: Option<Origin>,
    /// Without that line.
    pub(super) text: String,
}

/// Where a text is from.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Origin {
    pub(super) service: String,
    pub(super) revision: u64,
}

const START: &str = "# plimsoll policy: service \"";
const MIDDLE: &str = "\", revision ";

impl Draft {
    pub(super) fn parse(whole: &str) -> Self {
        let (first, rest) = whole.split_once('\n').unwrap_or((whole, ""));
        match Origin::parse(first.trim_end_matches('\r')) {
            Some(from) => Self { from: Some(from), text: rest.to_owned() },
            None => Self { from: None, text: whole.to_owned() },
        }
    }

    /// Lines of the file that are not part of the text.
    pub(super) fn above(&self) -> u64 {
        u64::from(self.from.is_some())
    }
}

impl Origin {
    fn parse(line: &str) -> Option<Self> {
        let (service, rest) = line.strip_prefix(START)?.split_once(MIDDLE)?;
        // What an instance keeps on disk says more after it.
        let revision = rest.split(", ").next()?;
        Some(Self { service: service.to_owned(), revision: revision.parse().ok()? })
    }

    pub(super) fn line(&self) -> String {
        format!("{START}{}{MIDDLE}{}\n", self.service, self.revision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let from = Origin { service: "orders.v1".to_owned(), revision: 7 };
        let draft = Draft::parse(&format!("{}a = 1\nb = 2\n", from.line()));
        assert_eq!((draft.text.as_str(), draft.above()), ("a = 1\nb = 2\n", 1));
        assert_eq!(draft.from, Some(from));
    }

    #[test]
    fn what_an_instance_has_kept_is_read_too() {
        let kept = "# plimsoll policy: service \"menu\", revision 7, sum 00ff\na = 1\n";
        let from = Origin { service: "menu".to_owned(), revision: 7 };
        assert_eq!(Draft::parse(kept), Draft { from: Some(from), text: "a = 1\n".to_owned() });
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for text in ["", "a = 1", "# a comment\na = 1\n", "# plimsoll policy: service \"x\"\n"] {
            assert_eq!(Draft::parse(text), Draft { from: None, text: text.to_owned() });
        }
    }
}
