//! Smoothed loads are many and written together: chunks of
//! `length of shard key (u32) | shard key | load (f64)`, little-endian.

use std::sync::Arc;

/// A chunk is rewritten whole and read whole: at usual key lengths about 100 KiB.
const LOADS_A_CHUNK: usize = 4096;
/// Where keys are long, a chunk ends sooner: etcd takes no request above 1.5 MiB.
const BYTES_A_CHUNK: usize = 512 * 1024;

/// The loads in order, in as many chunks as they need.
pub(crate) fn split(loads: &[(Arc<str>, f64)]) -> Vec<Vec<u8>> {
    let mut chunks: Vec<Vec<u8>> = Vec::new();
    let mut in_last = LOADS_A_CHUNK;
    for (shard, load) in loads {
        let full = |chunk: &Vec<u8>| in_last >= LOADS_A_CHUNK || chunk.len() >= BYTES_A_CHUNK;
        if chunks.last().is_none_or(full) {
            chunks.push(Vec::new());
            in_last = 0;
        }
        in_last += 1;
        if let Some(chunk) = chunks.last_mut() {
            append(chunk, shard, *load);
        }
    }
    chunks
}

fn append(chunk: &mut Vec<u8>, shard: &str, load: f64) {
    // No store takes a key as long as that.
    let length = u32::try_from(shard.len()).unwrap_or(u32::MAX);
    chunk.extend_from_slice(&length.to_le_bytes());
    chunk.extend_from_slice(shard.as_bytes());
    chunk.extend_from_slice(&load.to_le_bytes());
}

/// Appends the loads of a chunk to `loads`. The error says what is wrong with it.
pub(crate) fn join(mut chunk: &[u8], loads: &mut Vec<(Arc<str>, f64)>) -> Result<(), &'static str> {
    while !chunk.is_empty() {
        let (shard, load, rest) = first(chunk).ok_or("a chunk of loads ends too soon")?;
        let shard = str::from_utf8(shard).map_err(|_| "a shard key is not UTF-8")?;
        loads.push((shard.into(), load));
        chunk = rest;
    }
    Ok(())
}

fn first(chunk: &[u8]) -> Option<(&[u8], f64, &[u8])> {
    let (length, rest) = chunk.split_first_chunk()?;
    let (shard, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let (load, rest) = rest.split_first_chunk()?;
    Some((shard, f64::from_le_bytes(*load), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_split_joins_again() {
        let loads: Vec<(Arc<str>, f64)> =
            (0..10_000).map(|n| (Arc::from(n.to_string()), f64::from(n) / 3.0)).collect();
        let chunks = split(&loads);
        assert_eq!(chunks.len(), 3);
        let mut joined = Vec::new();
        chunks.iter().for_each(|chunk| join(chunk, &mut joined).unwrap());
        assert_eq!(joined, loads);
    }

    #[test]
    fn long_keys_make_short_chunks() {
        let key: Arc<str> = "k".repeat(1024).into();
        let chunks = split(&vec![(key, 1.0); 2000]);
        assert!(chunks.len() > 3 && chunks.iter().all(|chunk| chunk.len() < 600_000));
    }

    #[test]
    fn a_chunk_that_was_cut_is_damaged() {
        let whole = &split(&[("a".into(), 1.0)])[0];
        assert!(join(&whole[..whole.len() - 1], &mut Vec::new()).is_err());
    }
}
