//! The console in a real Chromium: what operators see and click, and what comes of it.

#[cfg(test)]
mod common;
#[cfg(test)]
mod live;
#[cfg(test)]
mod looks;
#[cfg(test)]
mod orders;
#[cfg(test)]
mod walk_through;
