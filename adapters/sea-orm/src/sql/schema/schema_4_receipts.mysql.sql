
-- What providers say of messages after they have taken them, a row for each kind.
CREATE TABLE IF NOT EXISTS claimstream_notification_receipt (
  message_id   BINARY(16)        NOT NULL,
  kind         ENUM('sent', 'soft_bounced', 'delivered', 'opened', 'unsubscribed', 'bounced', 'complained') NOT NULL,
  seen_at      DATETIME(6)       NOT NULL COMMENT 'UTC: when it came first',
  said_at      VARBINARY(64)     NULL COMMENT 'when it was so, in the words of the provider',
  PRIMARY KEY (message_id, kind)
) ENGINE = InnoDB;

-- Receipts that were faster than the note of the delivery they are about. They wait for it, and not for long.
CREATE TABLE IF NOT EXISTS claimstream_notification_receipt_waiting (
  provider     VARBINARY(64)     NOT NULL,
  reference    VARBINARY(255)    NOT NULL,
  kind         ENUM('sent', 'soft_bounced', 'delivered', 'opened', 'unsubscribed', 'bounced', 'complained') NOT NULL,
  address      VARBINARY(2048)   NULL,
  said_at      VARBINARY(64)     NULL,
  note         VARBINARY(1000)   NULL,
  seen_at      DATETIME(6)       NOT NULL COMMENT 'UTC: when it came first',
  PRIMARY KEY (provider, reference, kind),
  KEY age (seen_at)
) ENGINE = InnoDB;
