//! Why a policy is refused, and where.

use std::fmt;

/// Why a policy is refused. A front end turns the place into a line.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{place}{problem}")]
pub struct PolicyError {
    pub place: Place,
    pub problem: Problem,
}

/// Which part of a policy is meant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Place {
    /// The policy as a whole.
    Service,
    /// An element of `caller_from`, from 0.
    CallerFrom(usize),
    /// An element of `bypass`, from 0.
    Bypass(usize),
    /// The settings of every queue.
    Queue,
    /// A group, from 0.
    Group(usize),
    /// A rule, from 0.
    Rule(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service => Ok(()),
            Self::CallerFrom(at) => write!(f, "caller_from, entry {}: ", at + 1),
            Self::Bypass(at) => write!(f, "bypass, entry {}: ", at + 1),
            Self::Queue => write!(f, "queue: "),
            Self::Group(at) => write!(f, "group {}: ", at + 1),
            Self::Rule(at) => write!(f, "rule {}: ", at + 1),
        }
    }
}

/// What is wrong, and what to do. Positions count from 0 here and from 1 in the
/// text.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Problem {
    #[error("{pattern:?} names no endpoint: {reason}")]
    Endpoint { pattern: String, reason: &'static str },
    #[error("{name:?} is no caller: {reason}")]
    Caller { name: String, reason: &'static str },
    #[error("{name:?} is no header's name: write it in lower case, or \"certificate\"")]
    Header { name: String },
    #[error("it names neither an endpoint nor a caller; use default_criticality for everybody")]
    NobodyNamed,
    #[error("it sets nothing: give it a criticality, an enforcement or both")]
    NothingSet,
    #[error(
        "rule {} would decide the same requests and neither is more specific; remove one, or \
         make one narrower", other + 1
    )]
    AmbiguousRules { other: usize },
    #[error("{name:?} is no group's name: use letters, digits, '_', '-' and '.', at most 64")]
    GroupName { name: String },
    #[error("group {} has the same name {name:?}; names are given once", other + 1)]
    GroupTwice { name: String, other: usize },
    #[error("it has no endpoints; name at least one, or remove it")]
    NoEndpoints,
    #[error(
        "{pattern:?} and {other_pattern:?} of group {} match the same endpoints and neither is \
         more specific; an endpoint is in one group", other + 1
    )]
    AmbiguousGroups { pattern: String, other_pattern: String, other: usize },
    #[error("{key} {reason}")]
    Setting { key: &'static str, reason: &'static str },
    #[error("there are {count} {what}, more than {max}")]
    TooMany { what: &'static str, count: usize, max: usize },
}

impl PolicyError {
    pub(super) fn new(place: Place, problem: Problem) -> Self {
        Self { place, problem }
    }

    /// The other part of the policy that the problem is with, if it is with one.
    pub fn other(&self) -> Option<Place> {
        match self.problem {
            Problem::AmbiguousRules { other } => Some(Place::Rule(other)),
            Problem::GroupTwice { other, .. } | Problem::AmbiguousGroups { other, .. } => {
                Some(Place::Group(other))
            }
            _ => None,
        }
    }
}
