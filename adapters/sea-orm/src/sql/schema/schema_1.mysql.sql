-- Version 1 of Claimstream's tables for MySQL and MariaDB. Every statement may run again, also concurrently.

-- What may be claimed, and nothing else: clustered on the order of claiming, without any secondary index.
CREATE TABLE IF NOT EXISTS claimstream_queue (
  queue        VARBINARY(64)     NOT NULL,
  shard        SMALLINT UNSIGNED NOT NULL,
  available_at DATETIME(6)       NOT NULL COMMENT 'UTC: due time, or end of the lease of claim_id',
  id           BINARY(16)        NOT NULL,
  attempts     INT UNSIGNED      NOT NULL DEFAULT 0 COMMENT 'counted at claim',
  claim_id     BINARY(16)        NULL COMMENT 'the fence, first half = claimstream_instance.instance',
  claimed_from DATETIME(6)       NULL COMMENT 'available_at before the claim, or of an attempt that was cut off',
  parked_until DATETIME(6)       NULL COMMENT 'waits in its place, where keys are in order',
  last_error   VARBINARY(2000)   NULL,
  PRIMARY KEY claim (queue, shard, available_at, id)
) ENGINE = InnoDB;

-- What messages carry; written once, read by id.
CREATE TABLE IF NOT EXISTS claimstream_message (
  id           BINARY(16)        NOT NULL,
  queue        VARBINARY(64)     NOT NULL,
  shard        SMALLINT UNSIGNED NOT NULL,
  ordering_key VARBINARY(255)    NULL,
  headers      MEDIUMBLOB        NULL COMMENT 'JSON object',
  content_type VARBINARY(127)    NOT NULL,
  payload      LONGBLOB          NOT NULL,
  created_at   DATETIME(6)       NOT NULL COMMENT 'when it was stored, or stored anew by a revival',
  first_at     DATETIME(6)       NULL COMMENT 'when it was stored first, if it was revived',
  PRIMARY KEY (id)
) ENGINE = InnoDB;

-- What messages are unique by, for those that ask for it.
CREATE TABLE IF NOT EXISTS claimstream_dedup (
  queue        VARBINARY(64)     NOT NULL,
  dedup_key    VARBINARY(255)    NOT NULL,
  message_id   BINARY(16)        NOT NULL,
  created_at   DATETIME(6)       NOT NULL,
  PRIMARY KEY (queue, dedup_key),
  KEY age (created_at)
) ENGINE = InnoDB;

-- What was given up, whole, so that it can be judged and revived.
CREATE TABLE IF NOT EXISTS claimstream_dead (
  id           BINARY(16)        NOT NULL,
  queue        VARBINARY(64)     NOT NULL,
  shard        SMALLINT UNSIGNED NOT NULL,
  ordering_key VARBINARY(255)    NULL,
  headers      MEDIUMBLOB        NULL,
  content_type VARBINARY(127)    NOT NULL,
  payload      LONGBLOB          NOT NULL,
  created_at   DATETIME(6)       NOT NULL,
  attempts     INT UNSIGNED      NOT NULL,
  reason       VARBINARY(2000)   NOT NULL,
  died_at      DATETIME(6)       NOT NULL,
  PRIMARY KEY (id),
  KEY newest_in_queue (queue, died_at)
) ENGINE = InnoDB;

-- One row for each shard; their number is fixed when the schema is made.
CREATE TABLE IF NOT EXISTS claimstream_shard (
  shard        SMALLINT UNSIGNED NOT NULL,
  PRIMARY KEY (shard)
) ENGINE = InnoDB;

-- Who holds which shard of which queue under shard_lease, until when, and what is in flight there.
CREATE TABLE IF NOT EXISTS claimstream_lease (
  queue        VARBINARY(64)     NOT NULL,
  shard        SMALLINT UNSIGNED NOT NULL,
  holder       BINARY(8)         NULL COMMENT 'one opened outbox, or NULL if free',
  label        VARBINARY(64)     NULL COMMENT 'for people',
  fence        BIGINT            NOT NULL COMMENT 'grows with every holder',
  held_until   DATETIME(6)       NOT NULL,
  in_flight    INT UNSIGNED      NOT NULL,
  flights      MEDIUMBLOB        NULL COMMENT '24 bytes each: due time in microseconds, id',
  token        BIGINT            NOT NULL COMMENT 'of the newest write, to find out about lost answers',
  PRIMARY KEY (queue, shard)
) ENGINE = InnoDB;

-- Who made which claim ids, for people.
CREATE TABLE IF NOT EXISTS claimstream_instance (
  instance     BINARY(8)         NOT NULL,
  label        VARBINARY(64)     NOT NULL,
  seen_at      DATETIME(6)       NOT NULL,
  PRIMARY KEY (instance)
) ENGINE = InnoDB;

-- Notification requests and where they stand. A status has one length, so a row that moves on stays where it is in its page.
CREATE TABLE IF NOT EXISTS claimstream_notification_request (
  id           BINARY(16)        NOT NULL,
  status       ENUM('PENDING', 'PROCESSING', 'DISPATCHED', 'PARTIALLY_FAILED', 'FAILED', 'CANCELLED') NOT NULL,
  request      LONGBLOB          NOT NULL COMMENT 'JSON',
  reason       VARBINARY(2000)   NULL,
  created_at   DATETIME(6)       NOT NULL,
  changed_at   DATETIME(6)       NOT NULL,
  PRIMARY KEY (id)
) ENGINE = InnoDB;

-- One row for each recipient and channel of a request, and where it stands.
CREATE TABLE IF NOT EXISTS claimstream_notification_message (
  id           BINARY(16)        NOT NULL,
  request_id   BINARY(16)        NOT NULL,
  channel      VARBINARY(16)     NOT NULL,
  recipient    VARBINARY(2048)   NOT NULL,
  status       ENUM('PENDING', 'DELIVERED', 'SKIPPED', 'FAILED') NOT NULL,
  reason       VARBINARY(2000)   NULL,
  reference    VARBINARY(255)    NULL,
  created_at   DATETIME(6)       NOT NULL,
  changed_at   DATETIME(6)       NOT NULL,
  PRIMARY KEY (id),
  KEY messages_of_request (request_id, id)
) ENGINE = InnoDB;

-- The outbox under the names that other texts use, to be read by people; nothing is ever decided by it.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW claimstream_outbox AS
SELECT q.id                                                                     AS outbox_id,
       CAST(q.queue AS CHAR CHARACTER SET utf8mb4)                              AS topic,
       q.shard                                                                  AS shard_id,
       CAST(m.ordering_key AS CHAR CHARACTER SET utf8mb4)                       AS sharding_key,
       CASE WHEN q.claim_id IS NOT NULL AND q.available_at > UTC_TIMESTAMP(6) THEN 'PROCESSING'
            WHEN q.attempts > 0 THEN 'FAILED' ELSE 'NEW' END                    AS status,
       q.attempts                                                               AS retry_count,
       CASE WHEN q.claim_id IS NULL THEN q.available_at END                     AS next_retry_time,
       CAST(i.label AS CHAR CHARACTER SET utf8mb4)                              AS lock_owner,
       CASE WHEN q.claim_id IS NOT NULL THEN q.available_at END                 AS lock_until,
       CAST(q.last_error AS CHAR CHARACTER SET utf8mb4)                         AS last_error,
       m.payload                                                                AS payload,
       m.created_at                                                             AS created_at
  FROM claimstream_queue q
  LEFT JOIN claimstream_message m ON m.id = q.id
  LEFT JOIN claimstream_instance i ON i.instance = SUBSTRING(q.claim_id, 1, 8)
UNION ALL
SELECT d.id, CAST(d.queue AS CHAR CHARACTER SET utf8mb4), d.shard,
       CAST(d.ordering_key AS CHAR CHARACTER SET utf8mb4), 'DEAD', d.attempts, NULL, NULL, NULL,
       CAST(d.reason AS CHAR CHARACTER SET utf8mb4), d.payload, d.created_at
  FROM claimstream_dead d;

-- Which versions have been applied; the row of a version is written last.
CREATE TABLE IF NOT EXISTS claimstream_schema (
  version      INT UNSIGNED      NOT NULL,
  applied_at   DATETIME(6)       NOT NULL,
  PRIMARY KEY (version)
) ENGINE = InnoDB;
