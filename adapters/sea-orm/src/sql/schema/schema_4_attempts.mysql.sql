-- Version 4: attempts at notification messages, and the rates of providers. Every statement may run again, also concurrently.

-- Which provider was asked to deliver which message, when, and what it answered.
CREATE TABLE IF NOT EXISTS claimstream_notification_attempt (
  message_id   BINARY(16)        NOT NULL,
  claim_id     BINARY(16)        NOT NULL COMMENT 'of the attempt, which no two share',
  call_number  INT               NOT NULL COMMENT 'which provider of the attempt it was',
  number       INT               NOT NULL COMMENT 'of the attempt',
  provider     VARBINARY(64)     NOT NULL,
  began_at     DATETIME(6)       NOT NULL COMMENT 'UTC',
  took         BIGINT            NOT NULL COMMENT 'microseconds',
  class        ENUM('DELIVERED', 'PERMANENT', 'TRANSIENT', 'THROTTLED', 'PROVIDER_DOWN') NOT NULL,
  acceptance   ENUM('ACCEPTED', 'NOT_ACCEPTED', 'UNKNOWN') NOT NULL,
  reason       VARBINARY(255)    NULL,
  reference    VARBINARY(255)    NULL COMMENT 'the name of the delivery, by which receipts name it',
  PRIMARY KEY (message_id, claim_id, call_number),
  KEY delivery (provider, reference)
) ENGINE = InnoDB;

-- How far the tokens of a provider's rate are handed out.
CREATE TABLE IF NOT EXISTS claimstream_provider_rate (
  provider     VARBINARY(64)     NOT NULL,
  handed_out_until DATETIME(6)   NOT NULL COMMENT 'UTC: the tokens of all time before are handed out',
  PRIMARY KEY (provider)
) ENGINE = InnoDB;
