//! Unary gRPC: the message from JSON, its frame, and the deadline's notation.

mod reflection;
mod schema;

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use http::HeaderValue;
use prost::Message;
use prost_reflect::{DynamicMessage, MessageDescriptor};

use crate::error::Error;
use crate::plan::{Plan, Schema};
use crate::wire::Dialer;

/// The request message of a plan, encoded.
pub(crate) async fn message(
    plan: &Plan,
    dialer: &Dialer,
    method: &str,
    json: &str,
    schema: &Schema,
) -> Result<Bytes, Error> {
    let input = schema::input(plan, dialer, method, schema).await?;
    encode(input, json)
}

fn encode(input: MessageDescriptor, json: &str) -> Result<Bytes, Error> {
    let name = input.full_name().to_owned();
    let wrong =
        |why: serde_json::Error| Error::Body { message: name.clone(), why: why.to_string() };
    let mut reader = serde_json::Deserializer::from_str(json);
    let message = DynamicMessage::deserialize(input, &mut reader).map_err(&wrong)?;
    reader.end().map_err(&wrong)?;
    Ok(message.encode_to_vec().into())
}

/// A message with its five bytes in front: not compressed, length.
pub(crate) fn framed(message: &Bytes) -> Bytes {
    let mut frame = BytesMut::with_capacity(5 + message.len());
    frame.put_u8(0);
    // A request of 4 GiB does not fit into memory as JSON first.
    frame.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    frame.extend_from_slice(message);
    frame.freeze()
}

/// `grpc-timeout` in milliseconds, at least one; at most eight digits.
pub(crate) fn timeout(left: Duration) -> HeaderValue {
    let millis = left.as_nanos().div_ceil(1_000_000).clamp(1, 99_999_999);
    let text = format!("{millis}m");
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("1m"))
}

#[cfg(test)]
mod tests {
    use prost_reflect::DescriptorPool;

    use super::*;

    fn input() -> MessageDescriptor {
        let pool = DescriptorPool::decode(tonic_health::pb::FILE_DESCRIPTOR_SET).unwrap();
        pool.get_message_by_name("grpc.health.v1.HealthCheckRequest").unwrap()
    }

    #[test]
    fn json_becomes_the_message_on_the_wire() {
        let bytes = encode(input(), r#"{"service":"ab"}"#).unwrap();
        assert_eq!(&bytes[..], b"\x0a\x02ab");
        assert_eq!(&framed(&bytes)[..], b"\0\0\0\0\x04\x0a\x02ab");
        assert_eq!(&framed(&encode(input(), "{}").unwrap())[..], [0; 5]);
    }

    #[test]
    fn json_that_does_not_fit_is_refused_by_field() {
        let said = |json| encode(input(), json).unwrap_err().to_string();
        assert!(said(r#"{"servise":"ab"}"#).contains("servise"));
        assert!(said(r#"{"service":1}"#).contains("grpc.health.v1.HealthCheckRequest"));
        assert!(said(r#"{} x"#).contains("trailing characters"));
    }

    #[test]
    fn deadlines_are_rounded_up_to_a_millisecond() {
        assert_eq!(timeout(Duration::from_micros(1500)), "2m");
        assert_eq!(timeout(Duration::ZERO), "1m");
        assert_eq!(timeout(Duration::from_secs(3600)), "3600000m");
    }
}
