-- The tables of notifications, version 1, for MySQL and MariaDB. Every statement may run again, also concurrently.

-- Notification requests and where they stand. A status has one length, so a row that moves on stays where it is in its page.
CREATE TABLE IF NOT EXISTS claimstream_notification_request (
  id           BINARY(16)        NOT NULL,
  status       ENUM('PENDING', 'PROCESSING', 'DISPATCHED', 'PARTIALLY_FAILED', 'FAILED', 'CANCELLED') NOT NULL,
  request      LONGBLOB          NOT NULL COMMENT 'JSON',
  reason       VARBINARY(2000)   NULL,
  created_at   DATETIME(6)       NOT NULL,
  changed_at   DATETIME(6)       NOT NULL,
  PRIMARY KEY (id),
  KEY requests_by_age (created_at)
) ENGINE = InnoDB;

-- One row for each recipient and channel of a request, and where it stands.
CREATE TABLE IF NOT EXISTS claimstream_notification_message (
  id           BINARY(16)        NOT NULL,
  request_id   BINARY(16)        NOT NULL,
  channel      VARBINARY(16)     NOT NULL,
  recipient    VARBINARY(2048)   NOT NULL,
  status       ENUM('PENDING', 'DELIVERED', 'SKIPPED', 'FAILED', 'CANCELLED') NOT NULL,
  reason       VARBINARY(2000)   NULL,
  reference    VARBINARY(255)    NULL,
  created_at   DATETIME(6)       NOT NULL,
  changed_at   DATETIME(6)       NOT NULL,
  PRIMARY KEY (id),
  KEY messages_of_request (request_id, id)
) ENGINE = InnoDB;

-- Requests whose content was erased, with the fingerprint of each, so that the same request is still known.
CREATE TABLE IF NOT EXISTS claimstream_notification_erasure (
  request_id   BINARY(16)        NOT NULL,
  fingerprint  BINARY(32)        NOT NULL COMMENT 'SHA-256 of the request as it was',
  erased_at    DATETIME(6)       NOT NULL,
  PRIMARY KEY (request_id)
) ENGINE = InnoDB;

-- What users read inside the application, one row for each delivered message of the in-app channel.
CREATE TABLE IF NOT EXISTS claimstream_in_app (
  id           BINARY(16)        NOT NULL COMMENT 'the id of the message',
  user_id      VARBINARY(255)    NOT NULL,
  request_id   BINARY(16)        NOT NULL,
  content      MEDIUMBLOB        NOT NULL COMMENT 'JSON',
  is_read      TINYINT UNSIGNED  NOT NULL,
  created_at   DATETIME(6)       NOT NULL,
  PRIMARY KEY (id),
  KEY newest (user_id, created_at, id),
  KEY unread (user_id, is_read, created_at, id),
  KEY age (created_at)
) ENGINE = InnoDB;

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

-- Templates of notifications: the draft of each.
CREATE TABLE IF NOT EXISTS claimstream_template (
  template_id  VARBINARY(128)  NOT NULL,
  revision     INT UNSIGNED    NOT NULL COMMENT 'how often the draft has changed',
  draft        MEDIUMBLOB      NOT NULL COMMENT 'JSON',
  changed_at   DATETIME(6)     NOT NULL,
  PRIMARY KEY (template_id)
) ENGINE = InnoDB;

-- Their versions, which never change; the newest is sent.
CREATE TABLE IF NOT EXISTS claimstream_template_version (
  template_id   VARBINARY(128)  NOT NULL,
  number        INT UNSIGNED    NOT NULL,
  content       MEDIUMBLOB      NOT NULL COMMENT 'JSON, with the templates that it includes',
  restores      INT UNSIGNED    NULL COMMENT 'the older version that it repeats',
  publication   BINARY(16)      NOT NULL COMMENT 'the call that has published it',
  published_at  DATETIME(6)     NOT NULL,
  PRIMARY KEY (template_id, number)
) ENGINE = InnoDB;

-- Users that notifications are sent to, with their addresses.
CREATE TABLE IF NOT EXISTS claimstream_directory_user (
  user_id       VARBINARY(128)   NOT NULL,
  email         VARBINARY(2048)  NULL,
  phone         VARBINARY(2048)  NULL,
  device_token  VARBINARY(2048)  NULL,
  webhook       VARBINARY(2048)  NULL,
  chat          VARBINARY(2048)  NULL,
  language      VARBINARY(64)    NULL,
  time_zone     VARBINARY(64)    NULL,
  attributes    BLOB             NULL COMMENT 'JSON',
  changed_at    DATETIME(6)      NOT NULL,
  PRIMARY KEY (user_id)
) ENGINE = InnoDB;

-- Segments of users, also those without users.
CREATE TABLE IF NOT EXISTS claimstream_directory_segment (
  segment     VARBINARY(128)  NOT NULL,
  created_at  DATETIME(6)     NOT NULL,
  PRIMARY KEY (segment)
) ENGINE = InnoDB;

-- Which user is in which segment.
CREATE TABLE IF NOT EXISTS claimstream_directory_member (
  segment  VARBINARY(128)  NOT NULL,
  user_id  VARBINARY(128)  NOT NULL,
  PRIMARY KEY (segment, user_id),
  KEY of_user (user_id, segment)
) ENGINE = InnoDB;

-- The digest that messages of one recipient, channel, address and category join; it goes when the digest is closed.
CREATE TABLE IF NOT EXISTS claimstream_digest (
  digest_key   BINARY(16)    NOT NULL COMMENT 'made of what its items have in common',
  digest_id    BINARY(16)    NOT NULL COMMENT 'the id of the message that opened it, and of its outbox message',
  items        INT UNSIGNED  NOT NULL,
  closes_at    DATETIME(6)   NOT NULL,
  PRIMARY KEY (digest_key)
) ENGINE = InnoDB;

-- Messages that are delivered together with others; each stays as long as its record.
CREATE TABLE IF NOT EXISTS claimstream_digest_item (
  id           BINARY(16)    NOT NULL COMMENT 'the id of the message',
  digest_id    BINARY(16)    NOT NULL,
  item         MEDIUMBLOB    NOT NULL COMMENT 'JSON',
  created_at   DATETIME(6)   NOT NULL,
  PRIMARY KEY (id),
  KEY of_digest (digest_id, created_at, id)
) ENGINE = InnoDB;

-- Recipients that were erased, as long as requests are kept that were taken in before. A row without a moment is one that a restored record
-- holds until its transaction ends.
CREATE TABLE IF NOT EXISTS claimstream_erased_recipient (
  recipient_hash  BINARY(32)   NOT NULL COMMENT 'SHA-256',
  erased_at       DATETIME(6)  NULL COMMENT 'UTC',
  PRIMARY KEY (recipient_hash),
  KEY age (erased_at)
) ENGINE = InnoDB;
