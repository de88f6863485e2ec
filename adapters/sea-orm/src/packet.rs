use std::ops::Range;

use claimstream_domain::PayloadLimit;
use claimstream_ports::StoreError;

use crate::{args::Args, classify::corrupt};

/// How much one statement may carry: bytes, because the server cuts the connection on more, and rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    bytes: usize,
}

/// Rows of one statement. Few lengths, so that few texts are ever prepared on connections that are not ours.
const LENGTHS: [usize; 7] = [500, 100, 50, 20, 5, 2, 1];

impl Packet {
    /// What a statement takes beside its values.
    const MARGIN: usize = 8 * 1024;

    /// The largest packet that a server takes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self { bytes: bytes.saturating_sub(Self::MARGIN) }
    }

    /// The largest payload that surely fits.
    pub(crate) fn payload_limit(self) -> PayloadLimit {
        PayloadLimit::for_packet(self.bytes + Self::MARGIN)
    }

    /// Refuses a row that is too large even alone.
    pub(crate) fn check(self, operation: &'static str, rows: &[Args]) -> Result<(), StoreError> {
        match rows.iter().map(Args::bytes).find(|bytes| *bytes > self.bytes) {
            Some(bytes) => {
                let why = format!("it takes {bytes} bytes with everything, the server takes {}", self.bytes);
                Err(corrupt(operation, why))
            }
            None => Ok(()),
        }
    }

    /// Rows cut into statements.
    pub(crate) fn cut(self, rows: &[Args]) -> Vec<Range<usize>> {
        let mut statements = Vec::new();
        let mut start = 0;
        while start < rows.len() {
            let fitting = self.fitting(&rows[start..]);
            let length = LENGTHS.into_iter().find(|length| *length <= fitting).unwrap_or(1);
            statements.push(start..start + length);
            start += length;
        }
        statements
    }

    /// How many of the first rows fit together.
    fn fitting(self, rows: &[Args]) -> usize {
        let mut total = 0;
        let fits = |row: &&Args| {
            total += row.bytes();
            total <= self.bytes
        };
        rows.iter().take(LENGTHS[0]).take_while(fits).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_cover_every_row_once() {
        for n in [0, 1, 4, 99, 100, 737] {
            let statements = Packet::new(1 << 24).cut(&vec![Args::new(); n]);
            assert_eq!(statements.iter().cloned().flatten().collect::<Vec<_>>(), (0..n).collect::<Vec<_>>());
            assert!(statements.iter().all(|rows| LENGTHS.contains(&rows.len())));
        }
    }

    #[test]
    fn rows_that_do_not_fit_together_go_apart_and_one_that_never_fits_is_refused() {
        let row = |bytes: usize| Args::new().with("headers", vec![0_u8; bytes]);
        let packet = Packet::new(Packet::MARGIN + 1000);
        assert_eq!(packet.cut(&[row(400), row(400), row(400), row(900)]), [0..2, 2..3, 3..4]);
        assert!(packet.check("enqueue", &[row(900)]).is_ok());
        assert!(packet.check("enqueue", &[row(1), row(1001)]).is_err());
    }
}
