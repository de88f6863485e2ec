use std::io::{self, BufRead, BufReader, ErrorKind, Read};

/// The lines of a file or a stream, counted from 1, none of which is ever held whole if it is too long.
pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    number: u64,
}

/// One line.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum InputLine {
    /// What it says, without its end.
    Text(Vec<u8>),
    /// It is longer than [`Lines::LONGEST`] and was passed over.
    TooLong,
}

impl InputLine {
    /// How many bytes of the input it took, with its end; at least so many, if it was too long.
    pub(crate) fn length(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64 + 1,
            Self::TooLong => Lines::<std::fs::File>::LONGEST as u64,
        }
    }
}

impl<R: Read> Lines<R> {
    /// The longest line, in bytes.
    pub(crate) const LONGEST: usize = 1024 * 1024;
    const BUFFER: usize = 256 * 1024;
    const BYTE_ORDER_MARK: &'static [u8] = "\u{feff}".as_bytes();

    pub(crate) fn new(reader: R) -> Self {
        Self { reader: BufReader::with_capacity(Self::BUFFER, reader), number: 0 }
    }

    /// The next line and its number; `None` at the end. A last line needs no end, and a carriage return before the end does
    /// not belong to the line.
    pub(crate) fn next(&mut self) -> io::Result<Option<(u64, InputLine)>> {
        let mut text = Vec::new();
        let (mut begun, mut too_long) = (false, false);
        loop {
            let read = match self.reader.fill_buf() {
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                read => read?,
            };
            if read.is_empty() && !begun {
                return Ok(None);
            }
            let end = read.iter().position(|byte| *byte == b'\n');
            let part = &read[..end.unwrap_or(read.len())];
            too_long |= text.len() + part.len() > Self::LONGEST;
            if too_long {
                text = Vec::new()
            } else {
                text.extend_from_slice(part)
            }
            let is_over = end.is_some() || read.is_empty();
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            begun = true;
            if is_over {
                self.number += 1;
                let line = if too_long { InputLine::TooLong } else { InputLine::Text(self.bare(text)) };
                return Ok(Some((self.number, line)));
            }
        }
    }

    /// Whether the next line has been read already, so that it comes without waiting for its writer.
    pub(crate) fn is_ready(&self) -> bool {
        self.reader.buffer().contains(&b'\n')
    }

    fn bare(&self, mut text: Vec<u8>) -> Vec<u8> {
        if text.last() == Some(&b'\r') {
            text.pop();
        }
        if self.number == 1 && text.starts_with(Self::BYTE_ORDER_MARK) {
            text.drain(..Self::BYTE_ORDER_MARK.len());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<(u64, InputLine)> {
        let mut lines = Lines::new(bytes);
        std::iter::from_fn(|| lines.next().unwrap()).collect()
    }

    fn text(number: u64, text: &str) -> (u64, InputLine) {
        (number, InputLine::Text(text.as_bytes().to_vec()))
    }

    #[test]
    fn a_last_line_needs_no_end_and_all_ends_are_understood() {
        assert_eq!(lines(b""), []);
        assert_eq!(lines(b"\xef\xbb\xbfa\r\n\nb"), [text(1, "a"), text(2, ""), text(3, "b")]);
        assert_eq!(lines(b"a\n"), [text(1, "a")]);
        assert_eq!(lines("a\n\u{feff}b\n".as_bytes()), [text(1, "a"), text(2, "\u{feff}b")]);
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_never_held() {
        let long = vec![b'x'; Lines::<&[u8]>::LONGEST];
        let endless = io::repeat(b'y').take(50 * 1024 * 1024);
        let mut lines = Lines::new(long.as_slice().chain(&b"\n"[..]).chain(endless).chain(&b"\nz"[..]));
        assert_eq!(lines.next().unwrap(), Some((1, InputLine::Text(long.clone()))));
        assert_eq!(lines.next().unwrap(), Some((2, InputLine::TooLong)));
        assert_eq!(lines.next().unwrap(), Some(text(3, "z")));
        assert_eq!(lines.next().unwrap(), None);
    }

    #[test]
    fn says_whether_a_line_has_been_read_already() {
        let mut lines = Lines::new(&b"a\nb\nc"[..]);
        assert!(!lines.is_ready());
        lines.next().unwrap();
        assert!(lines.is_ready());
        lines.next().unwrap();
        assert!(!lines.is_ready());
    }
}
