//! What is let in. Limits are the Go server's where it has them; what it lets
//! poison a namespace (an executor id with a slash, a load that is not a number)
//! is refused here by name.

use plimsoll_ownership::message::MAX_STATE_BYTES;
use plimsoll_ownership::namespace::MAX_KEY_BYTES;
use plimsoll_placement::load::check_load;
use tonic::Status;

use super::support::invalid;
use crate::namespaces::MAX_EXECUTOR_ID;

/// Generations begin at microseconds since 1970 and grow more slowly than those:
/// this is the year 2255, and a number that JavaScript can still count.
const MAX_GENERATION: u64 = 9_007_199_254_740_991;
const MAX_METADATA_KEYS: usize = 32;
const MAX_METADATA_KEY: usize = 128;
const MAX_METADATA_VALUE: usize = 512 * 1024;
const MAX_HOST: usize = 128;
/// A sentence or two: it is stored with every drain and kept in the history.
const MAX_TEXT: usize = 1024;

/// Checks an executor's labels.
pub(super) fn metadata<'a>(
    entries: impl ExactSizeIterator<Item = (&'a String, &'a String)>,
) -> Result<(), Status> {
    if entries.len() > MAX_METADATA_KEYS {
        let count = entries.len();
        return Err(invalid(format!(
            "invalid metadata: {count} keys, at most {MAX_METADATA_KEYS} are allowed"
        )));
    }
    for (key, value) in entries {
        if key.len() > MAX_METADATA_KEY || value.len() > MAX_METADATA_VALUE {
            return Err(invalid(format!(
                "invalid metadata: key {key:?} has {} bytes and its value {}, at most {MAX_METADATA_KEY} and {MAX_METADATA_VALUE} are allowed",
                key.len(),
                value.len(),
            )));
        }
    }
    Ok(())
}

/// Checks what an owner hands to the next one.
pub(super) fn state(shard: &str, state: &[u8]) -> Result<(), Status> {
    if state.len() > MAX_STATE_BYTES {
        let bytes = state.len();
        return Err(invalid(format!(
            "invalid state: that of shard {shard:?} has {bytes} bytes, at most {MAX_STATE_BYTES} are handed over"
        )));
    }
    Ok(())
}

/// Checks the name of a host, as drains use it.
pub(super) fn host(name: &str) -> Result<(), Status> {
    if name.is_empty() || name.len() > MAX_HOST || name.contains(['/', '@']) || has_controls(name) {
        return Err(invalid(format!(
            "invalid host_name: {name:?} must be 1 to {MAX_HOST} bytes without \"/\", \"@\" and control characters"
        )));
    }
    Ok(())
}

/// Checks an executor's id.
pub(super) fn executor_id(id: &str) -> Result<(), Status> {
    if id.is_empty() || id.len() > MAX_EXECUTOR_ID || id.contains('/') || has_controls(id) {
        return Err(invalid(format!(
            "invalid executor_id: {id:?} must be 1 to {MAX_EXECUTOR_ID} bytes without \"/\" and control characters"
        )));
    }
    Ok(())
}

/// Checks a key that is looked up or reported.
pub(super) fn key(key: &str) -> Result<(), Status> {
    if key.len() > MAX_KEY_BYTES {
        return Err(invalid(format!(
            "invalid shard key of {} bytes: at most {MAX_KEY_BYTES} are allowed",
            key.len()
        )));
    }
    Ok(())
}

/// Checks keys that are to be drained or undrained.
pub(super) fn drain_keys(keys: &[String]) -> Result<(), Status> {
    if keys.is_empty() {
        return Err(invalid("shard keys must not be empty"));
    }
    for key in keys {
        if key.is_empty() || key.contains('/') || key.len() > MAX_KEY_BYTES {
            return Err(invalid(format!(
                "invalid shard key {key:?}: must be non-empty and must not contain '/'"
            )));
        }
    }
    Ok(())
}

/// Checks the generation that an executor says it was granted. The server counts
/// on from it if it has forgotten its own.
pub(super) fn generation(generation: u64) -> Result<(), Status> {
    if generation > MAX_GENERATION {
        return Err(invalid(format!(
            "invalid generation {generation}: no server has granted more than {MAX_GENERATION}"
        )));
    }
    Ok(())
}

/// Checks what people write about a drain.
pub(super) fn text(what: &str, text: &str) -> Result<(), Status> {
    if text.len() > MAX_TEXT {
        return Err(invalid(format!(
            "invalid {what} of {} bytes: at most {MAX_TEXT} are allowed",
            text.len()
        )));
    }
    Ok(())
}

/// What an executor says went wrong, cut to what is kept.
pub(super) fn cut(mut error: String) -> String {
    let end = error.char_indices().map(|(at, c)| at + c.len_utf8());
    let fits = end.take_while(|end| *end <= MAX_TEXT).last().unwrap_or(0);
    error.truncate(fits);
    error
}

/// They would be printed to terminals.
fn has_controls(text: &str) -> bool {
    text.contains(char::is_control)
}

/// Checks what moving a shard costs.
pub(super) fn move_cost(shard: &str, cost: f64) -> Result<f64, Status> {
    if cost.is_finite() && cost > 0.0 {
        return Ok(cost);
    }
    Err(invalid(format!(
        "invalid move cost {cost} of shard {shard:?}: give a finite number above 0, or leave it out"
    )))
}

/// Checks the load of a shard.
pub(super) fn load(shard: &str, load: f64) -> Result<f64, Status> {
    check_load(load).map_err(|error| invalid(format!("invalid load of shard {shard:?}: {error}")))
}
