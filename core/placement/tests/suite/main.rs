//! What the planner promises, from outside: in figures, in properties, against
//! a plain transcription of the reference, and in scenarios.

#[cfg(test)]
mod adaptive;
#[cfg(test)]
mod best;
#[cfg(test)]
mod checking;
#[cfg(test)]
mod kept;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod over_time;
#[cfg(test)]
mod placing;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod rest;
#[cfg(test)]
mod scenarios;
#[cfg(test)]
mod snapshots;
#[cfg(test)]
mod views;
