//! Protobuf by hand: what is on the wire, without any generated type. So that
//! field numbers are checked against the reference and not against ourselves.

use anyhow::{Result, bail, ensure};

/// A field's value as the wire has it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Value {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(Vec<u8>),
}

/// The fields of a message, in the order in which they came.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Fields(pub Vec<(u64, Value)>);

/// Writes a message field by field.
#[derive(Clone, Debug, Default)]
pub struct Writer(Vec<u8>);

impl Fields {
    /// Takes a message apart.
    ///
    /// # Errors
    /// It is no protobuf message.
    pub fn scan(mut bytes: &[u8]) -> Result<Self> {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes)?;
            fields.push((key >> 3, value(key & 7, &mut bytes)?));
        }
        Ok(Self(fields))
    }

    /// The numbers that occur, each once, in order.
    pub fn numbers(&self) -> Vec<u64> {
        let mut numbers: Vec<_> = self.0.iter().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    fn all(&self, number: u64) -> impl Iterator<Item = &Value> {
        self.0.iter().filter(move |(n, _)| *n == number).map(|(_, value)| value)
    }

    /// Every string of that number.
    pub fn texts(&self, number: u64) -> Vec<String> {
        let text = |value: &Value| match value {
            Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            other => panic!("field {number} is no string: {other:?}"),
        };
        self.all(number).map(text).collect()
    }

    /// The string of that number; empty if it is not there, as proto3 has it.
    pub fn text(&self, number: u64) -> String {
        self.texts(number).pop().unwrap_or_default()
    }

    /// The integer of that number; 0 if it is not there, as proto3 has it.
    pub fn integer(&self, number: u64) -> u64 {
        match self.all(number).last() {
            Some(Value::Varint(value)) => *value,
            None => 0,
            Some(other) => panic!("field {number} is no integer: {other:?}"),
        }
    }

    /// The double of that number; 0 if it is not there.
    pub fn double(&self, number: u64) -> f64 {
        match self.all(number).last() {
            Some(Value::Fixed64(bits)) => f64::from_bits(*bits),
            None => 0.0,
            Some(other) => panic!("field {number} is no double: {other:?}"),
        }
    }

    /// Every message of that number.
    pub fn messages(&self, number: u64) -> Vec<Self> {
        let message = |value: &Value| match value {
            Value::Bytes(bytes) => match Self::scan(bytes) {
                Ok(fields) => fields,
                Err(error) => panic!("field {number} is no message: {error}"),
            },
            other => panic!("field {number} is no message: {other:?}"),
        };
        self.all(number).map(message).collect()
    }

    /// The message of that number; an empty one if it is not there.
    pub fn message(&self, number: u64) -> Self {
        self.messages(number).pop().unwrap_or_default()
    }

    /// A `map<string, string>`, in order of key.
    pub fn map(&self, number: u64) -> Vec<(String, String)> {
        let mut entries: Vec<_> =
            self.messages(number).iter().map(|entry| (entry.text(1), entry.text(2))).collect();
        entries.sort();
        entries
    }

    /// A `map<string, message>`, in order of key.
    pub fn message_map(&self, number: u64) -> Vec<(String, Self)> {
        let mut entries: Vec<_> =
            self.messages(number).iter().map(|entry| (entry.text(1), entry.message(2))).collect();
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        entries
    }
}

impl Writer {
    /// An empty message.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a string.
    #[must_use]
    pub fn text(self, number: u64, text: &str) -> Self {
        self.bytes(number, text.as_bytes())
    }

    /// Adds bytes, or a message that was written by itself.
    #[must_use]
    pub fn bytes(mut self, number: u64, bytes: &[u8]) -> Self {
        self.key(number, 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// Adds a message.
    #[must_use]
    pub fn message(self, number: u64, message: &Self) -> Self {
        self.bytes(number, &message.0)
    }

    /// Adds an integer.
    #[must_use]
    pub fn integer(mut self, number: u64, value: u64) -> Self {
        self.key(number, 0);
        self.varint(value);
        self
    }

    /// Adds a double.
    #[must_use]
    pub fn double(mut self, number: u64, value: f64) -> Self {
        self.key(number, 1);
        self.0.extend_from_slice(&value.to_bits().to_le_bytes());
        self
    }

    /// The message.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }

    fn key(&mut self, number: u64, kind: u64) {
        self.varint(number << 3 | kind);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

fn value(kind: u64, bytes: &mut &[u8]) -> Result<Value> {
    Ok(match kind {
        0 => Value::Varint(varint(bytes)?),
        1 => Value::Fixed64(u64::from_le_bytes(take::<8>(bytes)?)),
        5 => Value::Fixed32(u32::from_le_bytes(take::<4>(bytes)?)),
        2 => {
            let length = usize::try_from(varint(bytes)?)?;
            ensure!(length <= bytes.len(), "a field of {length} bytes, {} are left", bytes.len());
            let (value, rest) = bytes.split_at(length);
            *bytes = rest;
            Value::Bytes(value.to_vec())
        }
        other => bail!("wire type {other}"),
    })
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N]> {
    let Some((taken, rest)) = bytes.split_first_chunk::<N>() else { bail!("cut short") };
    *bytes = rest;
    Ok(*taken)
}

fn varint(bytes: &mut &[u8]) -> Result<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let [byte] = take::<1>(bytes)?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    bail!("a varint of more than ten bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let inner = Writer::new().text(1, "k").text(2, "v");
        let bytes =
            Writer::new().text(1, "a").integer(2, 300).double(3, 0.5).message(4, &inner).finish();
        let fields = Fields::scan(&bytes).unwrap();
        assert_eq!(fields.numbers(), [1, 2, 3, 4]);
        assert_eq!((fields.text(1).as_str(), fields.integer(2)), ("a", 300));
        assert_eq!(fields.double(3), 0.5);
        assert_eq!(fields.map(4), [("k".to_owned(), "v".to_owned())]);
    }

    #[test]
    fn garbage_is_refused() {
        assert!(Fields::scan(&[0x0a, 0x7f, 0x00]).is_err());
        assert!(Fields::scan(&[0x0f]).is_err());
    }
}
