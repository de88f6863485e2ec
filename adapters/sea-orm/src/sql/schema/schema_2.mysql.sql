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
