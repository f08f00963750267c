//! The beginning of a call: which namespace it is about.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt;
use prost::Message;
use tonic::Status;
use tonic::body::Body;

use plimsoll_wire::MAX_MESSAGE_BYTES;

/// Before every message: whether it is compressed, and its length.
const PREFIX: usize = 5;

/// Calls that only the leader can answer, by where their first message names the
/// namespace.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Asked {
    /// In its first field.
    First,
    /// A lookup: namespace and key.
    NamespaceAndKey,
    /// A lookup: key and namespace.
    KeyAndNamespace,
    /// A session: in the first field of its hello.
    Session,
}

/// What a call is about.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Named {
    pub(super) namespace: String,
    /// It only wants to know who owns this shard.
    pub(super) looks_up: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Two {
    #[prost(string, tag = "1")]
    first: String,
    #[prost(string, tag = "2")]
    second: String,
}

#[derive(Clone, PartialEq, Message)]
struct One {
    #[prost(string, tag = "1")]
    first: String,
}

#[derive(Clone, PartialEq, Message)]
struct Inside {
    #[prost(message, optional, tag = "1")]
    hello: Option<One>,
}

/// How the call of this path names its namespace; `None`: every server can answer it.
pub(super) fn asked(path: &str) -> Option<Asked> {
    let (service, method) = path.strip_prefix('/')?.split_once('/')?;
    match (service, method) {
        ("plimsoll.v1.ExecutorService", "Session") => Some(Asked::Session),
        ("plimsoll.v1.RoutingService", "Lookup") => Some(Asked::NamespaceAndKey),
        ("plimsoll.v1.AdminService", "CreateNamespace") => None,
        ("plimsoll.v1.AdminService", _) => Some(Asked::First),
        ("uber.cadence.sharddistributor.v1.ShardDistributorExecutorAPI", _) => Some(Asked::First),
        ("uber.cadence.sharddistributor.v1.ShardDistributorAPI", method) => match method {
            "GetShardOwner" | "InspectShard" => Some(Asked::KeyAndNamespace),
            "ListNamespaces" | "WatchNamespaceState" => None,
            _ => Some(Asked::First),
        },
        _ => None,
    }
}

impl Asked {
    /// `None`: it is no such message. The service says so.
    pub(super) fn read(self, message: &Bytes) -> Option<Named> {
        let message = message.clone();
        Some(match self {
            Self::First => Named { namespace: One::decode(message).ok()?.first, looks_up: None },
            Self::Session => {
                let namespace = Inside::decode(message).ok()?.hello?.first;
                Named { namespace, looks_up: None }
            }
            Self::NamespaceAndKey => {
                let Two { first, second } = Two::decode(message).ok()?;
                Named { namespace: first, looks_up: Some(second) }
            }
            Self::KeyAndNamespace => {
                let Two { first, second } = Two::decode(message).ok()?;
                Named { namespace: second, looks_up: Some(first) }
            }
        })
    }
}

/// A body whose beginning was read, whole again.
#[derive(Debug)]
pub(super) struct Replayed {
    read: Bytes,
    /// What reading ended with, if not with a whole message.
    fault: Option<Status>,
    trailers: Option<Frame<Bytes>>,
    rest: Body,
}

impl Replayed {
    /// Reads until there is one whole message, or there will never be.
    pub(super) async fn read(mut rest: Body) -> Self {
        let mut read = BytesMut::new();
        let (mut fault, mut trailers) = (None, None);
        while !is_whole(&read) {
            match rest.frame().await {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => read.extend_from_slice(&data),
                    Err(frame) => {
                        trailers = Some(frame);
                        break;
                    }
                },
                Some(Err(status)) => {
                    fault = Some(status);
                    break;
                }
                None => break,
            }
        }
        Self { read: read.freeze(), fault, trailers, rest }
    }

    /// The first message, if there is one that is not compressed.
    pub(super) fn message(&self) -> Option<Bytes> {
        let length = length(&self.read)?;
        let whole = self.read.get(PREFIX..PREFIX + length)?;
        (self.read[0] == 0).then(|| self.read.slice_ref(whole))
    }
}

fn length(read: &[u8]) -> Option<usize> {
    let bytes = read.get(1..PREFIX)?;
    Some(bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)))
}

/// One that is too long is let through: the service refuses it.
fn is_whole(read: &[u8]) -> bool {
    length(read).is_some_and(|length| length > MAX_MESSAGE_BYTES || read.len() >= PREFIX + length)
}

impl HttpBody for Replayed {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if !self.read.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.read)))));
        }
        if let Some(fault) = self.fault.take() {
            return Poll::Ready(Some(Err(fault)));
        }
        if let Some(trailers) = self.trailers.take() {
            return Poll::Ready(Some(Ok(trailers)));
        }
        Pin::new(&mut self.rest).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        let nothing_kept = self.read.is_empty() && self.fault.is_none() && self.trailers.is_none();
        nothing_kept && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{Full, StreamBody};
    use plimsoll_wire::{sharddistributor as go, v1};

    use super::*;

    fn framed(message: &impl Message) -> Bytes {
        let bytes = message.encode_to_vec();
        let mut framed = vec![0];
        framed.extend((bytes.len() as u32).to_be_bytes());
        framed.extend(bytes);
        framed.into()
    }

    fn named(namespace: &str, looks_up: Option<&str>) -> Option<Named> {
        let looks_up = looks_up.map(str::to_owned);
        Some(Named { namespace: namespace.to_owned(), looks_up })
    }

    #[test]
    fn every_kind_of_call_names_its_namespace() {
        let (namespace, shard_key) = ("n".to_owned(), "k".to_owned());
        let beat = go::HeartbeatRequest {
            namespace: namespace.clone(),
            executor_id: "e".to_owned(),
            ..Default::default()
        };
        let asked_go = "/uber.cadence.sharddistributor.v1.ShardDistributorExecutorAPI/Heartbeat";
        let read = asked(asked_go).unwrap().read(&beat.encode_to_vec().into());
        assert_eq!(read, named("n", None));
        let owner =
            go::GetShardOwnerRequest { shard_key: shard_key.clone(), namespace: namespace.clone() };
        let asked_owner = "/uber.cadence.sharddistributor.v1.ShardDistributorAPI/GetShardOwner";
        let read = asked(asked_owner).unwrap().read(&owner.encode_to_vec().into());
        assert_eq!(read, named("n", Some("k")));
        let inspect =
            go::InspectShardRequest { shard_key: shard_key.clone(), namespace: namespace.clone() };
        let asked_inspect = "/uber.cadence.sharddistributor.v1.ShardDistributorAPI/InspectShard";
        let read = asked(asked_inspect).unwrap().read(&inspect.encode_to_vec().into());
        assert_eq!(read, named("n", Some("k")));
        let lookup = v1::LookupRequest { namespace: namespace.clone(), shard_key };
        let read = asked("/plimsoll.v1.RoutingService/Lookup").unwrap();
        assert_eq!(read.read(&lookup.encode_to_vec().into()), named("n", Some("k")));
        let hello = v1::Hello { namespace, ..Default::default() };
        let hello =
            v1::SessionRequest { message: Some(v1::session_request::Message::Hello(hello)) };
        let read = asked("/plimsoll.v1.ExecutorService/Session").unwrap();
        assert_eq!(read.read(&hello.encode_to_vec().into()), named("n", None));
    }

    #[test]
    fn watches_and_lists_are_answered_by_every_server() {
        for path in [
            "/plimsoll.v1.RoutingService/Watch",
            "/plimsoll.v1.AdminService/CreateNamespace",
            "/plimsoll.v1.PeerService/TakeOver",
            "/uber.cadence.sharddistributor.v1.ShardDistributorAPI/WatchNamespaceState",
            "/uber.cadence.sharddistributor.v1.ShardDistributorAPI/ListNamespaces",
            "/grpc.health.v1.Health/Check",
        ] {
            assert_eq!(asked(path), None, "{path}");
        }
    }

    #[tokio::test]
    async fn what_was_read_is_there_again_however_it_came_in() {
        let whole =
            framed(&v1::LookupRequest { namespace: "n".repeat(300), shard_key: "k".into() });
        let whole: Bytes = [whole.clone(), whole].concat().into();
        for size in [1, 4, 5, 7, 300, 10_000] {
            let frames =
                whole.chunks(size).map(|chunk| Ok(Frame::data(Bytes::copy_from_slice(chunk))));
            let stream =
                StreamBody::new(futures::stream::iter(frames.collect::<Vec<Result<_, Status>>>()));
            let replayed = Replayed::read(Body::new(stream)).await;
            assert_eq!(replayed.message().unwrap().len(), whole.len() / 2 - PREFIX);
            assert_eq!(replayed.collect().await.unwrap().to_bytes(), whole, "{size}");
        }
    }

    #[tokio::test]
    async fn half_a_message_is_passed_on_as_it_is() {
        let half = Bytes::from_static(&[0, 0, 0, 1, 0, 7]);
        let replayed = Replayed::read(Body::new(Full::new(half.clone()))).await;
        assert_eq!(replayed.message(), None);
        assert_eq!(replayed.collect().await.unwrap().to_bytes(), half);
    }
}
