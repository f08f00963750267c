//! Runs the real binary against a scripted server and compares what it prints
//! with the files in tests/golden. `UPDATE_GOLDEN=1 cargo test -p smctl` writes
//! them anew.

#[cfg(test)]
mod connection;
#[cfg(test)]
mod extras;
#[cfg(test)]
mod fake;
#[cfg(test)]
mod go_tool;
#[cfg(test)]
mod harness;
