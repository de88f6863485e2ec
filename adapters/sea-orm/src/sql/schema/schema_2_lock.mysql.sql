-- Version 2: locks between processes. Every statement may run again, also concurrently.

-- Who holds a lock lately and until when; the row stays when the lock is given back, because the fence goes on from it.
CREATE TABLE IF NOT EXISTS claimstream_lock (
  lock_key     VARBINARY(255)    NOT NULL,
  fence        BIGINT            NOT NULL COMMENT 'grows with every holder, and is at least the time of its taking in microseconds',
  held_until   DATETIME(6)       NOT NULL COMMENT 'UTC: the lock is free from then on',
  token        BINARY(16)        NOT NULL COMMENT 'of the newest write, to find out about lost answers',
  PRIMARY KEY (lock_key),
  KEY ended (held_until)
) ENGINE = InnoDB;
