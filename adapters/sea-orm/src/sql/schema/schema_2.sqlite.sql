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
