-- Version 4: messages that were taken back, and what is left of requests whose content was erased. Every statement may run again,
-- also concurrently.

-- A status has one length still, and the new one stands last, so no row is written.
ALTER TABLE claimstream_notification_message
  MODIFY status ENUM('PENDING', 'DELIVERED', 'SKIPPED', 'FAILED', 'CANCELLED') NOT NULL;

-- Requests whose content was erased, with the fingerprint of each, so that the same request is still known.
CREATE TABLE IF NOT EXISTS claimstream_notification_erasure (
  request_id   BINARY(16)        NOT NULL,
  fingerprint  BINARY(32)        NOT NULL COMMENT 'SHA-256 of the request as it was',
  erased_at    DATETIME(6)       NOT NULL,
  PRIMARY KEY (request_id)
) ENGINE = InnoDB;
