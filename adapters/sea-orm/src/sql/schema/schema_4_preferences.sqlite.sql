-- What recipients want, by the key of the recipient or of the address it was given by.
CREATE TABLE IF NOT EXISTS claimstream_preference (
  recipient_hash  BLOB    NOT NULL, -- SHA-256 of the key
  recipient       TEXT    NOT NULL,
  preferences     BLOB    NOT NULL, -- JSON
  changed_at      INTEGER NOT NULL,
  PRIMARY KEY (recipient_hash)
) WITHOUT ROWID;

-- Addresses that must not be written to.
CREATE TABLE IF NOT EXISTS claimstream_suppression (
  address_hash  BLOB    NOT NULL, -- SHA-256 of channel and address
  channel       TEXT    NOT NULL,
  address       TEXT    NOT NULL,
  reason        TEXT    NOT NULL,
  note          TEXT    NULL,
  since         INTEGER NOT NULL,
  PRIMARY KEY (address_hash)
) WITHOUT ROWID;
