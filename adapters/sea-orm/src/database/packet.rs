use std::ops::Range;

use claimstream_domain::PayloadLimit;
use claimstream_ports::StoreError;

use crate::database::classify::corrupt;

/// How much one statement may carry: bytes, because the server cuts the connection on more, and rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// The most that the server takes.
    bytes: usize,
    /// The most that rows are put together for.
    together: usize,
}

/// How many rows a statement may have. Few lengths, because each is a text of its own for each table: a server holds so many
/// prepared statements and no more (`max_prepared_stmt_count`, 16,382 by default), and the pools of callers keep a hundred on a connection.
const LENGTHS: [usize; 19] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20, 25, 50, 100, 200, 300, 400, MOST];
const MOST: usize = 500;

impl Packet {
    /// What a statement takes in addition to its values.
    const MARGIN: usize = 8 * 1024;
    /// What one TLS record carries, less what a statement takes in addition to its rows.
    const RECORD: usize = 15 * 1024;

    /// The largest packet that a server takes.
    pub(crate) fn new(bytes: usize) -> Self {
        let bytes = bytes.saturating_sub(Self::MARGIN);
        Self { bytes, together: bytes }
    }

    /// For connections that are encrypted.
    ///
    /// sqlx 0.9.0 writes each record by itself and leaves Nagle's algorithm on, so the second record of a packet waits for
    /// the acknowledgement of the first, which the other side puts off for 40 ms. Rows go together as far as one record
    /// carries them.
    pub(crate) fn encrypted(self) -> Self {
        Self { together: self.together.min(Self::RECORD), ..self }
    }

    /// The largest payload that surely fits.
    pub(crate) fn payload_limit(self) -> PayloadLimit {
        PayloadLimit::for_packet(self.bytes + Self::MARGIN)
    }

    /// Refuses a row that is too large even alone.
    pub(crate) fn check(
        self,
        operation: &'static str,
        mut rows: impl Iterator<Item = usize>,
    ) -> Result<(), StoreError> {
        match rows.find(|bytes| *bytes > self.bytes) {
            Some(bytes) => {
                let why = format!("it takes {bytes} bytes with everything, the server takes {}", self.bytes);
                Err(corrupt(operation, why))
            }
            None => Ok(()),
        }
    }

    /// Rows of so many bytes each, cut into statements.
    pub(crate) fn cut(self, rows: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
        let rows: Vec<usize> = rows.collect();
        let mut statements = Vec::new();
        let mut start = 0;
        while start < rows.len() {
            let fitting = self.fitting(&rows[start..]);
            let length = LENGTHS.into_iter().rfind(|length| *length <= fitting).unwrap_or(1);
            statements.push(start..start + length);
            start += length;
        }
        statements
    }

    /// How many of the first rows fit together.
    fn fitting(self, rows: &[usize]) -> usize {
        let mut total = 0;
        let fits = |row: &&usize| {
            total += **row;
            total <= self.together
        };
        rows.iter().take(MOST).take_while(fits).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_cover_every_row_once() {
        for n in [0, 1, 4, 99, 100, 737] {
            for packet in [Packet::new(1 << 24), Packet::new(1 << 24).encrypted()] {
                let statements = packet.cut(std::iter::repeat_n(300, n));
                assert_eq!(
                    statements.iter().cloned().flatten().collect::<Vec<_>>(),
                    (0..n).collect::<Vec<_>>()
                );
                assert!(statements.iter().all(|rows| LENGTHS.contains(&rows.len())));
            }
        }
    }

    #[test]
    fn the_usual_numbers_of_rows_are_one_statement() {
        let cut = |n| Packet::new(1 << 24).cut(std::iter::repeat_n(300, n)).len();
        assert!([1, 2, 10, 20, 25, 50, 100, 200, 500].into_iter().all(|n| cut(n) == 1));
        assert!((1..=10).all(|n| cut(n) == 1));
        assert_eq!([19, 75, 99].map(cut), [2, 2, 4]);
        assert!((1..=500).all(|n| cut(n) <= 5));
    }

    #[test]
    fn rows_that_do_not_fit_together_go_apart_and_one_that_never_fits_is_refused() {
        let packet = Packet::new(Packet::MARGIN + 1000);
        let cut = |packet: Packet, rows: &[usize]| packet.cut(rows.iter().copied());
        assert_eq!(cut(packet, &[400, 400, 400, 900]), [0..2, 2..3, 3..4]);
        assert!(packet.check("enqueue", [900].into_iter()).is_ok());
        assert!(packet.check("enqueue", [1, 1001].into_iter()).is_err());
    }

    #[test]
    fn encrypted_rows_fit_into_one_record_unless_one_is_larger_alone() {
        let packet = Packet::new(1 << 24).encrypted();
        let cut = |rows: &[usize]| packet.cut(rows.iter().copied());
        assert_eq!(cut(&[700; 50]), [0..20, 20..40, 40..50]);
        assert_eq!(cut(&[100_000, 700, 700]), [0..1, 1..3]);
        assert!(packet.check("enqueue", [100_000].into_iter()).is_ok());
    }
}
