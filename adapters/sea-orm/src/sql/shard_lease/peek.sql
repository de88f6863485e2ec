-- Which shards of a queue have a due message and are not leased to another instance; none while the queue is paused.
-- Takes no lock.
SELECT s.shard, {signed l.fence} AS fence,
       (l.holder IS NOT NULL AND l.holder <> :holder AND l.in_flight > 0) AS elsewhere
  FROM claimstream_shard s
  LEFT JOIN claimstream_lease l ON l.queue = :queue AND l.shard = s.shard
 WHERE (l.holder IS NULL OR l.holder = :holder OR l.held_until <= {now})
   AND (SELECT {to_first q} q.available_at
          FROM claimstream_queue q
         WHERE q.queue = :queue
           AND q.shard = s.shard
           AND NOT {unreadable q}
         ORDER BY q.queue, q.shard, q.available_at, q.id
         LIMIT 1) <= {now}
   AND NOT EXISTS (SELECT 1 FROM claimstream_pause p
                    WHERE p.queue = :queue AND p.shard IN (s.shard, 65535)
                      AND (p.resumed_at IS NULL OR (p.shard <> 65535 AND p.resumed_at > {now})))
