//! An error and what caused it: the libraries' own texts name the kind only, and
//! the kind that matters is often further down.

use std::error::Error;

/// `error`, its cause, the cause of that, and so on.
pub(crate) fn of<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    // Not the reference's own `source`, which would not live long enough.
    std::iter::successors(Some(error), |error| (**error).source())
}

/// All of it as one line.
pub(crate) fn text(error: &(dyn Error + 'static)) -> String {
    of(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// The first of a type.
pub(crate) fn first<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    of(error).find_map(|cause| cause.downcast_ref())
}
