//! The first frame of an HTTP/2 server, which says how many streams it allows.
//!
//! The library assumes a hundred until it has read that frame, and does not say
//! when it has; requests beyond what the server really allows would come back
//! refused. So no request is sent on a connection before its greeting was seen,
//! which also tells at once when the other side speaks no HTTP/2.

use tokio::sync::watch;

/// Length, type, flags and stream of a frame (RFC 9113, section 4.1).
const HEAD: usize = 9;
/// The type of a SETTINGS frame, and the length of one setting in it.
const SETTINGS: u8 = 4;
const SETTING: usize = 6;
/// SETTINGS_MAX_CONCURRENT_STREAMS.
const MAX_STREAMS: [u8; 2] = [0, 3];
/// A first frame longer than this is none, in bytes: some ten settings exist.
const LONGEST: usize = 1024;

/// What a server has said so far.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Said {
    Nothing,
    /// How many streams it allows at once.
    Allows(usize),
    /// Something that is no HTTP/2.
    Otherwise,
}

/// Reads along until the greeting is complete.
#[derive(Debug)]
pub(super) struct Greeting {
    read: Vec<u8>,
    tell: watch::Sender<Said>,
}

impl Greeting {
    pub(super) fn new() -> (Self, watch::Receiver<Said>) {
        let (tell, told) = watch::channel(Said::Nothing);
        (Self { read: Vec::new(), tell }, told)
    }

    /// Takes bytes that have come in. Whether it is over.
    pub(super) fn read(&mut self, bytes: &[u8]) -> bool {
        let room = (HEAD + LONGEST).saturating_sub(self.read.len());
        self.read.extend_from_slice(&bytes[..bytes.len().min(room)]);
        let said = parse(&self.read);
        if said == Said::Nothing {
            return false;
        }
        self.tell.send_replace(said);
        true
    }
}

fn parse(read: &[u8]) -> Said {
    let Some((head, rest)) = read.split_at_checked(HEAD) else {
        return if read.get(3).is_some_and(|kind| *kind != SETTINGS) {
            Said::Otherwise
        } else {
            Said::Nothing
        };
    };
    let length = head[..3].iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    // Type, flags and stream.
    let is_greeting = head[3..] == [SETTINGS, 0, 0, 0, 0, 0];
    if !is_greeting || length > LONGEST || length % SETTING != 0 {
        return Said::Otherwise;
    }
    rest.get(..length).map_or(Said::Nothing, |settings| Said::Allows(streams(settings)))
}

/// As many as there are numbers for, unless the server says otherwise.
fn streams(settings: &[u8]) -> usize {
    let limit = settings.chunks_exact(SETTING).rfind(|setting| setting[..2] == MAX_STREAMS);
    limit.map_or(usize::MAX, |setting| {
        setting[2..].iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(pieces: &[&[u8]]) -> Said {
        let (mut greeting, told) = Greeting::new();
        for piece in pieces {
            greeting.read(piece);
        }
        *told.borrow()
    }

    #[test]
    fn the_limit_is_found_among_other_settings_and_in_pieces() {
        let frame = b"\0\0\x0c\x04\0\0\0\0\0\0\x04\0\x10\0\0\0\x03\0\0\0\xfa";
        assert_eq!(said(&[frame]), Said::Allows(250));
        let bytes: Vec<&[u8]> = frame.chunks(1).collect();
        assert_eq!(said(&bytes), Said::Allows(250));
        assert_eq!(said(&bytes[..bytes.len() - 1]), Said::Nothing);
    }

    #[test]
    fn a_server_that_names_no_limit_has_none() {
        assert_eq!(said(&[b"\0\0\0\x04\0\0\0\0\0"]), Said::Allows(usize::MAX));
    }

    #[test]
    fn anything_else_is_no_http_2() {
        for odd in [
            &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
            b"HTTP",
            b"\x15\x03\x01\0\x02\x02\x46",
            b"\0\0\0\x04\x01\0\0\0\0",
            b"\0\0\x05\x04\0\0\0\0\0",
        ] {
            assert_eq!(said(&[odd]), Said::Otherwise, "{odd:?}");
        }
    }
}
