//! How spectators ask executors: a line with the shard, a line back. A connection
//! a request, so that each one feels what the network and the process do then.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use plimsoll_client::{Misdirected, NextOwner, Redirect};
use plimsoll_testkit::chaos::Moment;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

const ANSWER_WITHIN: Duration = Duration::from_secs(1);

/// The executor owned the shard, at some instant between these moments.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Served {
    pub(super) executor: String,
    pub(super) generation: u64,
    pub(super) from: Moment,
    pub(super) to: Moment,
}

/// What an executor says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Reply {
    Served(Served),
    /// It does not own the shard; perhaps it knows who does.
    NotHere(Option<NextOwner>),
}

/// Why a request was not carried out, or may not have been.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Trouble {
    NotHere(Option<NextOwner>),
    /// Nobody listens there: it was not carried out.
    Refused,
    /// The connection broke: it may have been carried out.
    Broken,
    /// No answer in time: it may have been carried out.
    Silent,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotHere(_) => "not the owner",
            Self::Refused => "connection refused",
            Self::Broken => "connection broken",
            Self::Silent => "no answer in time",
        })
    }
}

impl Redirect for Trouble {
    fn redirect(&self) -> Option<Misdirected> {
        match self {
            Self::NotHere(next) => Some(Misdirected::NotHere(next.clone())),
            Self::Refused => Some(Misdirected::Unreached),
            Self::Broken | Self::Silent => None,
        }
    }
}

impl Reply {
    pub(super) fn to_line(&self) -> String {
        match self {
            Self::Served(Served { executor, generation, from, to }) => {
                let (from, to) = (from.as_nanos(), to.as_nanos());
                format!("served {executor} {generation} {from} {to}\n")
            }
            Self::NotHere(next) => {
                let executor = next.as_ref().map_or("-", |next| &*next.executor_id);
                let address = next.as_ref().and_then(|next| next.address.as_deref());
                format!("not-here {executor} {}\n", address.unwrap_or("-"))
            }
        }
    }

    pub(super) fn of_line(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        match words.next()? {
            "served" => Some(Self::Served(Served {
                executor: words.next()?.to_owned(),
                generation: words.next()?.parse().ok()?,
                from: Moment::from_nanos(words.next()?.parse().ok()?),
                to: Moment::from_nanos(words.next()?.parse().ok()?),
            })),
            "not-here" => {
                let mut known = || words.next().map(|word| Some(word).filter(|word| *word != "-"));
                let (executor, address) = (known()?, known()?.map(Into::into));
                let next = executor.map(|id| NextOwner { executor_id: id.into(), address });
                Some(Self::NotHere(next))
            }
            _ => None,
        }
    }
}

/// Sends one request.
pub(super) async fn ask(address: SocketAddr, shard: &str) -> Result<Served, Trouble> {
    let connected = timeout(ANSWER_WITHIN, TcpStream::connect(address)).await;
    let socket = connected.map_err(|_| Trouble::Silent)?.map_err(|_| Trouble::Refused)?;
    let answer = timeout(ANSWER_WITHIN, exchange(socket, shard)).await;
    match answer.map_err(|_| Trouble::Silent)?.ok_or(Trouble::Broken)? {
        Reply::Served(served) => Ok(served),
        Reply::NotHere(next) => Err(Trouble::NotHere(next)),
    }
}

async fn exchange(mut socket: TcpStream, shard: &str) -> Option<Reply> {
    socket.write_all(format!("{shard}\n").as_bytes()).await.ok()?;
    let mut line = String::new();
    BufReader::new(socket).read_line(&mut line).await.ok()?;
    Reply::of_line(&line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_read_as_they_were_written() {
        let (from, to) = (Moment::from_nanos(8), Moment::from_nanos(9));
        let served = Served { executor: "e1".into(), generation: 7, from, to };
        let next = |address: Option<&str>| {
            Some(NextOwner { executor_id: "e2".into(), address: address.map(Into::into) })
        };
        let moved = [None, next(None), next(Some("127.0.0.1:1"))].map(Reply::NotHere);
        for reply in moved.into_iter().chain([Reply::Served(served)]) {
            assert_eq!(Reply::of_line(&reply.to_line()), Some(reply));
        }
    }

    #[test]
    fn half_a_reply_is_none() {
        assert_eq!(Reply::of_line("served e1 7"), None);
        assert_eq!(Reply::of_line(""), None);
    }
}
