-- The tables of steps, sagas and locks, version 1, for SQLite: times are microseconds of UTC since 1970. Every statement may run again,
-- also concurrently.

-- Steps that were taken: each by the transaction that had its effect. A run is forgotten when its last change is old.
CREATE TABLE IF NOT EXISTS claimstream_step (
  scope        TEXT    NOT NULL,
  run          TEXT    NOT NULL,
  step         TEXT    NOT NULL,
  state        INTEGER NOT NULL,
  version      INTEGER NOT NULL,
  origin       BLOB    NOT NULL,
  fingerprint  BLOB    NULL,
  result       BLOB    NULL,
  created_at   INTEGER NOT NULL,
  changed_at   INTEGER NOT NULL,
  PRIMARY KEY (scope, run, step)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS claimstream_step_age ON claimstream_step (changed_at);

-- Sagas that were asked for, for their owners; where each stands is a row of claimstream_step.
CREATE TABLE IF NOT EXISTS claimstream_saga (
  scope        TEXT    NOT NULL,
  run          TEXT    NOT NULL,
  owner        TEXT    NOT NULL,
  input        TEXT    NOT NULL,
  created_at   INTEGER NOT NULL,
  PRIMARY KEY (scope, run)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS claimstream_saga_of_owner ON claimstream_saga (scope, owner, created_at, run);

-- Who holds a lock lately and until when; the row stays when the lock is given back, because the fence goes on from it.
CREATE TABLE IF NOT EXISTS claimstream_lock (
  lock_key     TEXT    NOT NULL,
  fence        INTEGER NOT NULL, -- grows with every holder, and is at least the time of its taking in microseconds
  held_until   INTEGER NOT NULL, -- UTC: the lock is free from then on
  token        BLOB    NOT NULL, -- of the newest write, to find out about lost answers
  PRIMARY KEY (lock_key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS claimstream_lock_ended ON claimstream_lock (held_until);
