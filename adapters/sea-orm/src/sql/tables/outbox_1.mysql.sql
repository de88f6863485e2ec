-- The tables of the outbox, version 1, for MySQL and MariaDB. Every statement may run again, also concurrently.

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
  created_at   DATETIME(6)       NOT NULL COMMENT 'when it was stored, or stored again by a revival',
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

-- Who made which claim ids, for people.
CREATE TABLE IF NOT EXISTS claimstream_instance (
  instance     BINARY(8)         NOT NULL,
  label        VARBINARY(64)     NOT NULL,
  seen_at      DATETIME(6)       NOT NULL,
  PRIMARY KEY (instance)
) ENGINE = InnoDB;

-- Queues that were paused, and by whom, and single shards from which no relay begins to claim for a while, because messages are moved out
-- of them. The row of a queue stays after it was resumed, and says by whom that was.
CREATE TABLE IF NOT EXISTS claimstream_pause (
  queue        VARBINARY(64)     NOT NULL,
  shard        SMALLINT UNSIGNED NOT NULL COMMENT '65535: the whole queue',
  paused_at    DATETIME(6)       NOT NULL COMMENT 'UTC',
  paused_by    VARBINARY(64)     NOT NULL,
  why          VARBINARY(500)    NULL,
  resumed_at   DATETIME(6)       NULL COMMENT 'UTC: a shard is paused until then, and a queue was resumed then',
  resumed_by   VARBINARY(64)     NULL,
  PRIMARY KEY (queue, shard)
) ENGINE = InnoDB;

-- What operators have done, a row for each action, written before it is done.
CREATE TABLE IF NOT EXISTS claimstream_audit (
  number       BIGINT            NOT NULL AUTO_INCREMENT,
  noted_at     DATETIME(6)       NOT NULL COMMENT 'UTC',
  actor        VARBINARY(64)     NOT NULL,
  action       VARBINARY(32)     NOT NULL COMMENT 'a word, such as pause or purge',
  subject      VARBINARY(200)    NOT NULL,
  affected     BIGINT            NULL COMMENT 'how many it is done to, if that is known',
  PRIMARY KEY (number),
  KEY age (noted_at)
) ENGINE = InnoDB;

-- The outbox under the names that other texts use, to be read by people; nothing is ever decided by it.
-- NULL is what is unknown: lock_time where a claim is not stamped with its beginning, updated_at of a message that has been touched since it
-- was stored. Times are UTC.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW claimstream_outbox AS
SELECT q.id                                                                     AS id,
       q.id                                                                     AS outbox_id,
       CAST(q.queue AS CHAR CHARACTER SET utf8mb4)                              AS topic,
       q.shard                                                                  AS shard_id,
       CAST(m.ordering_key AS CHAR CHARACTER SET utf8mb4)                       AS sharding_key,
       CASE WHEN q.claim_id IS NOT NULL AND q.available_at > UTC_TIMESTAMP(6) THEN 'PROCESSING'
            WHEN q.attempts > 0 THEN 'FAILED' ELSE 'NEW' END                    AS status,
       q.attempts                                                               AS retry_count,
       CASE WHEN q.claim_id IS NULL
            THEN COALESCE(q.parked_until, q.available_at) END                   AS next_retry_time,
       CAST(i.label AS CHAR CHARACTER SET utf8mb4)                              AS lock_owner,
       CAST(NULL AS DATETIME(6))                                                AS lock_time,
       CASE WHEN q.claim_id IS NOT NULL THEN q.available_at END                 AS lock_until,
       CAST(q.last_error AS CHAR CHARACTER SET utf8mb4)                         AS last_error,
       m.payload                                                                AS payload,
       COALESCE(m.first_at, m.created_at)                                       AS created_at,
       CASE WHEN q.claim_id IS NULL AND q.attempts = 0 THEN m.created_at END    AS updated_at
  FROM claimstream_queue q
  LEFT JOIN claimstream_message m ON m.id = q.id
  LEFT JOIN claimstream_instance i ON i.instance = SUBSTRING(q.claim_id, 1, 8)
UNION ALL
SELECT d.id, d.id, CAST(d.queue AS CHAR CHARACTER SET utf8mb4), d.shard,
       CAST(d.ordering_key AS CHAR CHARACTER SET utf8mb4), 'DEAD', d.attempts, NULL, NULL, NULL, NULL,
       CAST(d.reason AS CHAR CHARACTER SET utf8mb4), d.payload, d.created_at, d.died_at
  FROM claimstream_dead d;

-- The versions of each capability's tables, whose row is written last; and the resharding that was begun, if any, whose row goes when the
-- triggers go by which messages find their new shards.
CREATE TABLE IF NOT EXISTS claimstream_schema (
  capability   VARBINARY(32)     NOT NULL COMMENT 'the name of a capability, or resharding',
  version      INT UNSIGNED      NOT NULL,
  applied_at   DATETIME(6)       NULL COMMENT 'UTC, of a resharding since when messages are written by the new count',
  shards       SMALLINT UNSIGNED NULL COMMENT 'of a resharding, how many there will be',
  from_shards  SMALLINT UNSIGNED NULL COMMENT 'of a resharding, how many there were',
  PRIMARY KEY (capability, version)
) ENGINE = InnoDB;
