-- Version 2: locks between processes. Every statement may run again, also concurrently.

-- Who holds a lock lately and until when; the row stays when the lock is given back, because the fence goes on from it.
CREATE TABLE IF NOT EXISTS claimstream_lock (
  lock_key     TEXT    NOT NULL,
  fence        INTEGER NOT NULL, -- grows with every holder, and is at least the time of its taking in microseconds
  held_until   INTEGER NOT NULL, -- UTC: the lock is free from then on
  token        BLOB    NOT NULL, -- of the newest write, to find out about lost answers
  PRIMARY KEY (lock_key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS claimstream_lock_ended ON claimstream_lock (held_until);
