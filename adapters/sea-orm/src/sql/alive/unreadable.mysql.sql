-- When the oldest live message that no claim can read was stored first. They stand at the front of each shard.
SELECT MIN({first COALESCE(m.first_at, m.created_at)}) AS first_at
  FROM (SELECT queue, shard
          FROM claimstream_queue {by_primary}
         GROUP BY queue, shard
        HAVING MIN(available_at) < TIMESTAMP'1970-01-01 00:00:00') place
  STRAIGHT_JOIN claimstream_queue q {by_primary}
    ON q.queue = place.queue AND q.shard = place.shard AND {unreadable q}
  STRAIGHT_JOIN claimstream_message m {by_primary} ON m.id = q.id
