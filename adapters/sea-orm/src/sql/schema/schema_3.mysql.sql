-- Version 3: the view of the outbox shows what is in flight under shard_lease, and has every column of the texts that it is
-- named after. Times are UTC. NULL is what is unknown: lock_time where a claim is not stamped with its beginning,
-- updated_at of a message that has been touched since it was stored.
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
