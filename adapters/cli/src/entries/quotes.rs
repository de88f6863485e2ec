use std::{
    collections::VecDeque,
    io::{self, Read},
    mem,
    sync::{Arc, Mutex, PoisonError},
};

/// A file of comma-separated values whose quotes are checked while it is read, because a reader of such files takes any text.
pub(super) struct Quotes {
    from: Box<dyn Read>,
    /// How many bytes were read.
    bytes: u64,
    place: QuoteState,
    faults: QuoteFaults,
}

/// What is wrong with the quotes that were read so far. Clones share it.
#[derive(Clone, Default)]
pub(super) struct QuoteFaults(Arc<Mutex<VecDeque<(u64, QuoteFault)>>>);

/// What is wrong with a quote. Either way a record may hold lines that were meant to be records.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum QuoteFault {
    /// The file ends inside a quoted field.
    #[error("a quote is not closed up to the end of the file")]
    Open,
    /// A quoted field has ended and its text continues.
    #[error("text follows a closing quote; a quote inside a quoted field is written twice")]
    Continued,
}

/// Where the last byte stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum QuoteState {
    /// Before the first byte of a field.
    Begin,
    /// In a field without quotes, where a quote is text.
    Plain,
    /// In a quoted field, which this byte opened.
    Quoted(u64),
    /// Behind a quote in a quoted field, which closes it unless another one follows.
    Closed(u64),
}

impl Quotes {
    const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

    pub(super) fn new(from: Box<dyn Read>, faults: QuoteFaults) -> Self {
        Self { from, bytes: 0, place: QuoteState::Begin, faults }
    }

    fn see(&mut self, byte: u8) {
        let at = self.bytes;
        self.place = match (self.place, byte) {
            (QuoteState::Begin, b'"') => QuoteState::Quoted(at),
            (QuoteState::Quoted(opened), b'"') => QuoteState::Closed(opened),
            (QuoteState::Closed(opened), b'"') => QuoteState::Quoted(opened),
            (QuoteState::Quoted(opened), _) => QuoteState::Quoted(opened),
            (_, b',' | b'\r' | b'\n') => QuoteState::Begin,
            (QuoteState::Closed(_), _) => {
                self.faults.note(at, QuoteFault::Continued);
                QuoteState::Plain
            }
            (QuoteState::Begin, _) if Self::BYTE_ORDER_MARK.get(at as usize) == Some(&byte) => {
                QuoteState::Begin
            }
            (QuoteState::Begin | QuoteState::Plain, _) => QuoteState::Plain,
        };
        self.bytes += 1;
    }

    fn end(&mut self) {
        if let QuoteState::Quoted(opened) = mem::replace(&mut self.place, QuoteState::Begin) {
            self.faults.note(opened, QuoteFault::Open);
        }
    }
}

impl Read for Quotes {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        into[..read].iter().for_each(|byte| self.see(*byte));
        if read == 0 && !into.is_empty() {
            self.end();
        }
        Ok(read)
    }
}

impl QuoteFaults {
    /// The first fault before this byte of the file; it forgets all that are before it.
    pub(super) fn take_before(&self, end: u64) -> Option<QuoteFault> {
        let mut faults = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = faults.front().filter(|(at, _)| *at < end).map(|(_, fault)| *fault);
        faults.retain(|(at, _)| *at >= end);
        first
    }

    fn note(&self, at: u64, fault: QuoteFault) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back((at, fault));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &'static [u8]) -> Vec<(u64, QuoteFault)> {
        let faults = QuoteFaults::default();
        let mut quotes = Quotes::new(Box::new(text), faults.clone());
        io::copy(&mut quotes, &mut io::sink()).unwrap();
        faults.0.lock().unwrap().iter().copied().collect()
    }

    #[test]
    fn a_quote_opens_a_field_at_its_first_byte_alone_and_closes_it_before_a_comma_or_a_line_end() {
        let fine: [&[u8]; 6] = [
            b"5\" disk,x",
            b"\"a,\"\"b\"\"\r\nc\",\"\"\r\n\"d\"",
            b"\"\"\n",
            b"a\"b\"c\n",
            b"",
            b"\xef\xbb\xbf\"a\",b",
        ];
        for text in fine {
            assert_eq!(faults(text), [], "{text:?}");
        }
        assert_eq!(
            faults(b"a,\"b\"c,\"d\" \n\"e"),
            [(5, QuoteFault::Continued), (10, QuoteFault::Continued), (12, QuoteFault::Open)]
        );
        assert_eq!(faults(b"a,\"b\"\"\n"), [(2, QuoteFault::Open)]);
    }

    #[test]
    fn a_fault_is_taken_once_with_all_before_it() {
        let faults = QuoteFaults::default();
        for at in [3, 5, 9] {
            faults.note(at, QuoteFault::Continued);
        }
        let taken = [3, 6, 9, 10, 11].map(|end| faults.take_before(end).is_some());
        assert_eq!(taken, [false, true, false, true, false]);
    }
}
