-- What recipients want, by the key of the recipient or of the address it was given by.
CREATE TABLE IF NOT EXISTS claimstream_preference (
  recipient_hash  BINARY(32)       NOT NULL COMMENT 'SHA-256 of the key',
  recipient       VARBINARY(2100)  NOT NULL,
  preferences     BLOB             NOT NULL COMMENT 'JSON',
  changed_at      DATETIME(6)      NOT NULL,
  PRIMARY KEY (recipient_hash)
) ENGINE = InnoDB;

-- Addresses that must not be written to.
CREATE TABLE IF NOT EXISTS claimstream_suppression (
  address_hash  BINARY(32)       NOT NULL COMMENT 'SHA-256 of channel and address',
  channel       VARBINARY(16)    NOT NULL,
  address       VARBINARY(2100)  NOT NULL,
  reason        ENUM('unsubscribed', 'bounced', 'complained') NOT NULL,
  note          VARBINARY(2000)  NULL,
  since         DATETIME(6)      NOT NULL,
  PRIMARY KEY (address_hash)
) ENGINE = InnoDB;
