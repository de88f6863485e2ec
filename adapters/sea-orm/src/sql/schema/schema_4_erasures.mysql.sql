
-- Recipients that were erased, as long as requests are kept that were taken in before. A row without a moment is one that a restored record
-- holds until its transaction ends.
CREATE TABLE IF NOT EXISTS claimstream_erased_recipient (
  recipient_hash  BINARY(32)   NOT NULL COMMENT 'SHA-256',
  erased_at       DATETIME(6)  NULL COMMENT 'UTC',
  PRIMARY KEY (recipient_hash),
  KEY age (erased_at)
) ENGINE = InnoDB;
