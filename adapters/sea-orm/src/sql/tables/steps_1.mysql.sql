-- The tables of steps, sagas and locks, version 1, for MySQL and MariaDB. Every statement may run again, also concurrently.

-- Steps that were taken: each by the transaction that had its effect. A run is forgotten when its last change is old.
CREATE TABLE IF NOT EXISTS claimstream_step (
  scope        VARBINARY(100)    NOT NULL,
  run          VARBINARY(255)    NOT NULL,
  step         VARBINARY(100)    NOT NULL,
  state        TINYINT UNSIGNED  NOT NULL,
  version      BIGINT UNSIGNED   NOT NULL,
  origin       BINARY(16)        NOT NULL,
  fingerprint  BINARY(32)        NULL,
  result       BLOB              NULL,
  created_at   DATETIME(6)       NOT NULL,
  changed_at   DATETIME(6)       NOT NULL,
  PRIMARY KEY (scope, run, step),
  KEY age (changed_at)
) ENGINE = InnoDB;

-- Sagas that were asked for, for their owners; where each stands is a row of claimstream_step.
CREATE TABLE IF NOT EXISTS claimstream_saga (
  scope        VARBINARY(100)    NOT NULL,
  run          VARBINARY(36)     NOT NULL COMMENT 'the id, as it stands in claimstream_step',
  owner        VARBINARY(255)    NOT NULL,
  input        BLOB              NOT NULL COMMENT 'JSON',
  created_at   DATETIME(6)       NOT NULL,
  PRIMARY KEY (scope, run),
  KEY sagas_of_owner (scope, owner, created_at, run)
) ENGINE = InnoDB;

-- Who holds a lock lately and until when; the row stays when the lock is given back, because the fence goes on from it.
CREATE TABLE IF NOT EXISTS claimstream_lock (
  lock_key     VARBINARY(255)    NOT NULL,
  fence        BIGINT            NOT NULL COMMENT 'grows with every holder, and is at least the time of its taking in microseconds',
  held_until   DATETIME(6)       NOT NULL COMMENT 'UTC: the lock is free from then on',
  token        BINARY(16)        NOT NULL COMMENT 'of the newest write, to find out about lost answers',
  PRIMARY KEY (lock_key),
  KEY ended (held_until)
) ENGINE = InnoDB;
