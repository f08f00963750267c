//! The answer to a unary call, read as yarpc reads it.

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::HeaderMap;
use prost::Message;

use super::client::Head;
use super::stream::Messages;
use crate::proto::Fields;

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Reply {
    pub http_status: u16,
    pub headers: HeaderMap,
    pub messages: Vec<Bytes>,
    /// Of an answer without a body the head is the trailer.
    pub trailers: HeaderMap,
}

/// What is in `grpc-status-details-bin`, taken apart by hand.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TypedDetail {
    pub code: u64,
    pub message: String,
    pub type_url: String,
    pub fields: Fields,
}

impl Reply {
    pub(super) async fn read(head: Head) -> Result<Self> {
        let mut answer = Messages::new(head);
        let mut messages = Vec::new();
        while let Some(message) = answer.next().await? {
            messages.push(message);
        }
        let mut trailers = answer.trailers().await?;
        if trailers.is_empty() {
            trailers = answer.headers.clone();
        }
        let (http_status, headers) = (answer.status, answer.headers);
        Ok(Self { http_status, headers, messages, trailers })
    }

    /// `grpc-status`.
    ///
    /// # Panics
    /// There is none, or it is no number: yarpc would give up as well.
    pub fn code(&self) -> u32 {
        let status = self.trailers.get("grpc-status").and_then(|status| status.to_str().ok());
        match status.and_then(|status| status.parse().ok()) {
            Some(code) => code,
            None => panic!("no grpc-status in {self:?}"),
        }
    }

    /// `grpc-message`, percent-decoded as grpc-go does it.
    pub fn message(&self) -> String {
        self.trailers.get("grpc-message").map(|it| decoded(it.as_bytes())).unwrap_or_default()
    }

    /// The one message of a good answer, taken apart by hand.
    ///
    /// # Errors
    /// It is an error, or there is not exactly one message.
    pub fn fields(&self) -> Result<Fields> {
        Fields::scan(self.body()?)
    }

    /// The one message of a good answer.
    ///
    /// # Errors
    /// It is an error, or there is not exactly one message, or another one.
    pub fn decode<M: Message + Default>(&self) -> Result<M> {
        Ok(M::decode(self.body()?)?)
    }

    fn body(&self) -> Result<&[u8]> {
        ensure!(self.code() == 0, "status {}: {}", self.code(), self.message());
        ensure!(self.messages.len() == 1, "{} messages in one answer", self.messages.len());
        Ok(&self.messages[0])
    }

    /// The typed error, if there is one.
    ///
    /// # Errors
    /// The header does not hold a `google.rpc.Status`.
    pub fn typed(&self) -> Result<Option<TypedDetail>> {
        let Some(header) = self.trailers.get("grpc-status-details-bin") else { return Ok(None) };
        let status = Fields::scan(&base64(header.as_bytes()).context("it is no base64")?)?;
        let details = status.messages(3);
        let first = details.first().cloned().unwrap_or_default();
        Ok(Some(TypedDetail {
            code: status.integer(1),
            message: status.text(2),
            type_url: first.text(1),
            fields: first.message(2),
        }))
    }
}

fn decoded(text: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, tail)) = rest.split_first() {
        let hex = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Standard alphabet, padded or not: grpc-go takes both.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut bits, mut held) = (0_u32, 0);
    for letter in text.iter().filter(|letter| **letter != b'=') {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_percent_decoded() {
        assert_eq!(decoded(b"a%20b%25c%"), "a b%c%");
    }

    #[test]
    fn base64_comes_with_and_without_padding() {
        assert_eq!(base64(b"aGVsbG8=").unwrap(), b"hello");
        assert_eq!(base64(b"aGVsbG8").unwrap(), b"hello");
        assert_eq!(base64(b"a-b"), None);
    }
}
