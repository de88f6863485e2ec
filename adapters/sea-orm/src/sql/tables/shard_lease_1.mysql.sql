-- The table of the strategy shard_lease, version 1, for MySQL and MariaDB. Every statement may run again, also concurrently.

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

-- The view of the outbox, which now shows what is in flight under the leases, too.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW claimstream_outbox AS
SELECT q.id                                                                     AS id,
       q.id                                                                     AS outbox_id,
       CAST(q.queue AS CHAR CHARACTER SET utf8mb4)                              AS topic,
       q.shard                                                                  AS shard_id,
       CAST(m.ordering_key AS CHAR CHARACTER SET utf8mb4)                       AS sharding_key,
       CASE WHEN l.queue IS NOT NULL THEN 'PROCESSING'
            WHEN q.claim_id IS NOT NULL AND q.available_at > UTC_TIMESTAMP(6) THEN 'PROCESSING'
            WHEN q.attempts > 0 THEN 'FAILED' ELSE 'NEW' END                    AS status,
       q.attempts + (l.queue IS NOT NULL)                                       AS retry_count,
       CASE WHEN l.queue IS NULL AND q.claim_id IS NULL
            THEN COALESCE(q.parked_until, q.available_at) END                   AS next_retry_time,
       CAST(COALESCE(l.label, i.label) AS CHAR CHARACTER SET utf8mb4)           AS lock_owner,
       CAST(NULL AS DATETIME(6))                                                AS lock_time,
       CASE WHEN l.queue IS NOT NULL THEN l.held_until
            WHEN q.claim_id IS NOT NULL THEN q.available_at END                 AS lock_until,
       CAST(q.last_error AS CHAR CHARACTER SET utf8mb4)                         AS last_error,
       m.payload                                                                AS payload,
       COALESCE(m.first_at, m.created_at)                                       AS created_at,
       CASE WHEN l.queue IS NULL AND q.claim_id IS NULL AND q.attempts = 0
            THEN m.created_at END                                               AS updated_at
  FROM claimstream_queue q
  LEFT JOIN claimstream_message m ON m.id = q.id
  LEFT JOIN claimstream_instance i ON i.instance = SUBSTRING(q.claim_id, 1, 8)
  LEFT JOIN claimstream_lease l ON l.queue = q.queue AND l.shard = q.shard
        AND l.in_flight > 0 AND l.held_until > UTC_TIMESTAMP(6) AND LOCATE(q.id, l.flights) > 0
UNION ALL
SELECT d.id, d.id, CAST(d.queue AS CHAR CHARACTER SET utf8mb4), d.shard,
       CAST(d.ordering_key AS CHAR CHARACTER SET utf8mb4), 'DEAD', d.attempts, NULL, NULL, NULL, NULL,
       CAST(d.reason AS CHAR CHARACTER SET utf8mb4), d.payload, d.created_at, d.died_at
  FROM claimstream_dead d;
