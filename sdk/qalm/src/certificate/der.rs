//! DER (X.690), one element after the other: tag, length, content. Short tags
//! only, which is all that certificates have.

/// A constructed sequence.
pub(super) const SEQUENCE: u8 = 0x30;

/// One element.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Element<'a> {
    pub(super) tag: u8,
    pub(super) content: &'a [u8],
}

/// The elements of some bytes; ends at the first that is broken.
#[derive(Clone, Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn read(&mut self) -> Option<Element<'a>> {
        let (&[tag, first], rest) = self.rest.split_first_chunk()?;
        let (length, rest) = length(first, rest)?;
        let (content, rest) = rest.split_at_checked(length)?;
        self.rest = rest;
        Some(Element { tag, content })
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Element<'a>;

    fn next(&mut self) -> Option<Element<'a>> {
        let element = self.read();
        if element.is_none() {
            self.rest = &[];
        }
        element
    }
}

/// The content of the first element, if it has that tag.
pub(super) fn within(bytes: &[u8], tag: u8) -> Option<&[u8]> {
    Reader::new(bytes).next().filter(|element| element.tag == tag).map(|element| element.content)
}

/// Up to 127 in one byte; else that many bytes follow.
fn length(first: u8, rest: &[u8]) -> Option<(usize, &[u8])> {
    if first < 0x80 {
        return Some((usize::from(first), rest));
    }
    let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
    let fits = (1..=4).contains(&bytes.len());
    fits.then(|| (bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_read_one_after_the_other() {
        let mut long = vec![0x04, 0x81, 0x80];
        long.extend([7; 128]);
        long.extend([0x02, 0x01, 0x05, 0x02, 0x09]);
        let elements: Vec<_> = Reader::new(&long).collect();
        assert_eq!(elements.len(), 2, "the last one is cut off");
        assert_eq!(elements[0], Element { tag: 4, content: &[7; 128] });
        assert_eq!(elements[1], Element { tag: 2, content: &[5] });
    }

    #[test]
    fn lengths_that_make_no_sense_end_it() {
        for bytes in [&[0x30, 0x80][..], &[0x30, 0x85, 1, 1, 1, 1, 1], &[0x30, 0x82, 1], &[0x30]] {
            assert_eq!(Reader::new(bytes).next(), None);
        }
    }
}
