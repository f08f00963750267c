//! Why a level is proposed, in a sentence.

use std::fmt;

/// Why a level is proposed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Because {
    /// Its name says that nobody waits for it.
    Background { word: String },
    /// Its name says that the service exists for it.
    CoreName { word: String },
    /// Its calls come at certain hours only.
    Hours {
        /// The first hour, UTC, 0 to 23.
        from: u8,
        /// How many, at least 1.
        hours: u8,
        /// Of its calls, in percent.
        percent: u8,
    },
    /// What its calls are for.
    Serves {
        what: Serves,
        /// Where the calls come from in the end.
        root: String,
        /// Of its calls, in percent.
        percent: u8,
    },
    /// Nobody was seen to call it from inside.
    Entry,
    /// Supervisors ask it.
    Health,
    /// Nothing tells how much it matters.
    Unknown,
    /// Its name cannot stand in a policy, or contradicts another rule.
    Invalid,
}

/// What calls are for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Serves {
    CoreFlow,
    People,
    Background,
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Background { word } => {
                write!(f, "its name says batch, test or report ({word:?})")
            }
            Self::CoreName { word } => write!(f, "its name says core flow ({word:?})"),
            Self::Hours { from, hours, percent } => {
                let until = (u16::from(*from) + u16::from(*hours)) % 24;
                write!(f, "{percent} % of its calls come from {from:02}:00 to {until:02}:00 UTC")
            }
            Self::Serves { what, root, percent } => {
                let what = match what {
                    Serves::CoreFlow => "the core flow",
                    Serves::People => "people, by",
                    Serves::Background => "what nobody waits for,",
                };
                write!(f, "{percent} % of its calls serve {what} {root}")
            }
            Self::Entry => f.write_str(
                "no caller was seen: people's requests begin here, or a caller is not traced",
            ),
            Self::Health => f.write_str("supervisors ask it"),
            Self::Unknown => f.write_str("nothing tells how much it matters"),
            Self::Invalid => {
                f.write_str("its name cannot stand in a policy, or contradicts another rule")
            }
        }
    }
}
