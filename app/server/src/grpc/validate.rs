//! What is let in. Limits are the Go server's where it has them; what it lets
//! poison a namespace (an executor id with a slash, a load that is not a number)
//! is refused here by name.

use plimsoll_ownership::namespace::MAX_KEY_BYTES;
use plimsoll_placement::load::check_load;
use tonic::Status;

use super::support::invalid;

const MAX_METADATA_KEYS: usize = 32;
const MAX_METADATA_KEY: usize = 128;
const MAX_METADATA_VALUE: usize = 512 * 1024;
const MAX_HOST: usize = 128;
const MAX_EXECUTOR_ID: usize = 256;

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

/// Checks the name of a host, as drains use it.
pub(super) fn host(name: &str) -> Result<(), Status> {
    if name.is_empty() || name.len() > MAX_HOST || name.contains(['/', '@']) {
        return Err(invalid(format!(
            "invalid host_name: {name:?} must be 1 to {MAX_HOST} bytes without \"/\" and \"@\""
        )));
    }
    Ok(())
}

/// Checks an executor's id.
pub(super) fn executor_id(id: &str) -> Result<(), Status> {
    if id.is_empty() || id.len() > MAX_EXECUTOR_ID || id.contains('/') {
        return Err(invalid(format!(
            "invalid executor_id: {id:?} must be 1 to {MAX_EXECUTOR_ID} bytes without \"/\""
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

/// Checks the load of a shard.
pub(super) fn load(shard: &str, load: f64) -> Result<f64, Status> {
    check_load(load).map_err(|error| invalid(format!("invalid load of shard {shard:?}: {error}")))
}
