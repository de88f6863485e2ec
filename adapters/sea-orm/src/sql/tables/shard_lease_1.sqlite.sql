-- The table of the strategy shard_lease, version 1, for SQLite: times are microseconds of UTC since 1970. Every statement may run again,
-- also concurrently.

-- Who holds which shard of which queue under shard_lease, until when, and what is in flight there.
CREATE TABLE IF NOT EXISTS claimstream_lease (
  queue        TEXT    NOT NULL,
  shard        INTEGER NOT NULL,
  holder       BLOB    NULL, -- one opened outbox, or NULL if free
  label        TEXT    NULL, -- for people
  fence        INTEGER NOT NULL, -- grows with every holder
  held_until   INTEGER NOT NULL,
  in_flight    INTEGER NOT NULL,
  flights      BLOB    NULL, -- 24 bytes each: due time in microseconds, id
  token        INTEGER NOT NULL, -- of the newest write, to find out about lost answers
  PRIMARY KEY (queue, shard)
) WITHOUT ROWID;

-- The view of the outbox, which now shows what is in flight under the leases, too.
DROP VIEW IF EXISTS claimstream_outbox;

CREATE VIEW IF NOT EXISTS claimstream_outbox AS
WITH clock AS (SELECT CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER) AS now)
SELECT q.id                                                      AS id,
       q.id                                                      AS outbox_id,
       q.queue                                                   AS topic,
       q.shard                                                   AS shard_id,
       m.ordering_key                                            AS sharding_key,
       CASE WHEN l.queue IS NOT NULL THEN 'PROCESSING'
            WHEN q.claim_id IS NOT NULL AND q.available_at > clock.now THEN 'PROCESSING'
            WHEN q.attempts > 0 THEN 'FAILED' ELSE 'NEW' END     AS status,
       q.attempts + (l.queue IS NOT NULL)                        AS retry_count,
       CASE WHEN l.queue IS NULL AND q.claim_id IS NULL
            THEN COALESCE(q.parked_until, q.available_at) END    AS next_retry_time,
       COALESCE(l.label, i.label)                                AS lock_owner,
       CAST(NULL AS INTEGER)                                     AS lock_time,
       CASE WHEN l.queue IS NOT NULL THEN l.held_until
            WHEN q.claim_id IS NOT NULL THEN q.available_at END  AS lock_until,
       q.last_error                                              AS last_error,
       m.payload                                                 AS payload,
       COALESCE(m.first_at, m.created_at)                        AS created_at,
       CASE WHEN l.queue IS NULL AND q.claim_id IS NULL AND q.attempts = 0
            THEN m.created_at END                                AS updated_at
  FROM claimstream_queue q
 CROSS JOIN clock
  LEFT JOIN claimstream_message m ON m.id = q.id
  LEFT JOIN claimstream_instance i ON i.instance = substr(q.claim_id, 1, 8)
  LEFT JOIN claimstream_lease l ON l.queue = q.queue AND l.shard = q.shard
        AND l.in_flight > 0 AND l.held_until > clock.now AND instr(l.flights, q.id) > 0
UNION ALL
SELECT d.id, d.id, d.queue, d.shard, d.ordering_key, 'DEAD', d.attempts, NULL, NULL, NULL, NULL, d.reason, d.payload,
       d.created_at, d.died_at
  FROM claimstream_dead d;
