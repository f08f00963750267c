//! Which failure an error of the HTTP library stands for.

use std::error::Error as StdError;
use std::io;

use super::{dial, lanes};
use crate::body::UploadError;
use crate::causes;
use crate::failure::Failure;

/// Looks through `error` and its causes for the first that says something.
pub(super) fn of(error: &(dyn StdError + 'static)) -> Failure {
    causes::of(error).find_map(known).unwrap_or(Failure::Lost)
}

fn known(cause: &(dyn StdError + 'static)) -> Option<Failure> {
    if let Some(error) = cause.downcast_ref::<UploadError>() {
        return Some(match error {
            UploadError::TooLarge => Failure::BodyTooLarge,
            UploadError::Client(_) => Failure::ClientBroke,
        });
    }
    if let Some(error) = cause.downcast_ref::<dial::Error>() {
        return Some(dialling(error));
    }
    match cause.downcast_ref() {
        Some(lanes::Error::NotHttp2) => return Some(Failure::WrongProtocol),
        // What is shared hides its own type.
        Some(lanes::Error::Shared(error)) => return Some(of(error.as_ref())),
        _ => {}
    }
    let one = cause.downcast_ref::<hyper::Error>();
    one.filter(|error| error.is_parse()).map(|_| Failure::WrongProtocol)
}

fn dialling(error: &dial::Error) -> Failure {
    match (error, error.kind()) {
        (dial::Error::Timeout, _) | (_, Some(io::ErrorKind::TimedOut)) => Failure::ConnectTimeout,
        (_, Some(io::ErrorKind::ConnectionRefused)) => Failure::Refused,
        _ => Failure::Unreachable,
    }
}
