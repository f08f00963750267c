//! Why a policy file is refused: which file, which line, what to do.

use std::path::PathBuf;

/// Why a policy file is refused.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum PolicyFileError {
    #[error("cannot read {}: {reason}", path.display())]
    Read { path: PathBuf, reason: String },
    #[error("{}:{line}: {reason}", path.display())]
    Line { path: PathBuf, line: usize, reason: String },
    #[error("{}: {reason}", path.display())]
    Whole { path: PathBuf, reason: String },
}

impl PolicyFileError {
    /// What is wrong, without file and line.
    pub fn reason(&self) -> &str {
        match self {
            Self::Read { reason, .. } | Self::Line { reason, .. } | Self::Whole { reason, .. } => {
                reason
            }
        }
    }

    /// The line it is about, from 1; `None` where it is about the whole file.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Line { line, .. } => Some(*line),
            Self::Read { .. } | Self::Whole { .. } => None,
        }
    }
}
