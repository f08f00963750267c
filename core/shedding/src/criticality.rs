//! How much a request matters, in four levels and 128 cohorts.
//!
//! The levels are the seed's. Within a level, requests are dropped by cohort, so
//! that under steady overload the same users fail rather than everybody at times;
//! which cohorts are first rotates with time.

use std::fmt;

/// How much a request matters: 1 most, 4 least.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[repr(u8)]
pub enum Criticality {
    /// 1: what everything else stands on. Never shed by policy.
    Infrastructure = 1,
    /// 2: the reason the service exists. Never shed by policy.
    CoreFlow = 2,
    /// 3: what a user sees and can do without for a while. The default.
    Feature = 3,
    /// 4: internal and test traffic, batches: the first to go.
    Internal = 4,
}

impl Criticality {
    /// From the most critical to the least.
    pub const ALL: [Self; 4] =
        [Self::Infrastructure, Self::CoreFlow, Self::Feature, Self::Internal];

    /// The level of that number, 1 to 4.
    pub const fn from_level(level: u8) -> Option<Self> {
        match level {
            1 => Some(Self::Infrastructure),
            2 => Some(Self::CoreFlow),
            3 => Some(Self::Feature),
            4 => Some(Self::Internal),
            _ => None,
        }
    }

    /// 1 to 4, as in headers, metrics and policies.
    pub const fn level(self) -> u8 {
        self as u8
    }

    /// 0 to 3: a position in an array of one slot a level.
    pub const fn index(self) -> usize {
        self as usize - 1
    }

    /// Levels 1 and 2: they may expire, and be refused at a hard bound of memory,
    /// but no policy sheds them.
    pub const fn is_critical(self) -> bool {
        matches!(self, Self::Infrastructure | Self::CoreFlow)
    }

    /// The level above; level 1 has none.
    pub(crate) const fn next_more_critical(self) -> Self {
        match self {
            Self::Infrastructure | Self::CoreFlow => Self::Infrastructure,
            Self::Feature => Self::CoreFlow,
            Self::Internal => Self::Feature,
        }
    }

    /// The less critical of the two: what a caller asks for never raises it above
    /// what the table allows.
    pub fn capped_by(self, allowed: Self) -> Self {
        self.max(allowed)
    }
}

impl fmt::Display for Criticality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.level())
    }
}

/// Which part of a level's users a request belongs to, 0 to 127.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Cohort(u8);

impl Cohort {
    /// How many there are, as in Uber's Cinnamon.
    pub const COUNT: u8 = 128;

    /// The cohort of a hash of whatever identifies the user.
    pub const fn from_hash(hash: u64) -> Self {
        Self((hash % Self::COUNT as u64) as u8)
    }

    /// The cohort of that number; `None` from 128 on.
    pub const fn from_number(number: u8) -> Option<Self> {
        if number < Self::COUNT { Some(Self(number)) } else { None }
    }

    /// 0 to 127.
    pub const fn number(self) -> u8 {
        self.0
    }
}
