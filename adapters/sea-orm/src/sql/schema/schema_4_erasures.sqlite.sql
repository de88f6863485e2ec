
-- Recipients that were erased, as long as requests are kept that were taken in before. A row without a moment is one that a restored record
-- holds until its transaction ends.
CREATE TABLE IF NOT EXISTS claimstream_erased_recipient (
  recipient_hash  BLOB     NOT NULL, -- SHA-256
  erased_at       INTEGER  NULL, -- UTC
  PRIMARY KEY (recipient_hash)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS claimstream_erased_recipient_age ON claimstream_erased_recipient (erased_at);
