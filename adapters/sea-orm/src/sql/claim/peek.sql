-- Which shards of a queue have a due message; none while the queue is paused, and none that is paused itself. Takes no lock.
SELECT s.shard
  FROM claimstream_shard s
 WHERE (SELECT {to_first q} q.available_at
          FROM claimstream_queue q
         WHERE q.queue = :queue
           AND q.shard = s.shard
           AND NOT {unreadable q}
         ORDER BY q.queue, q.shard, q.available_at, q.id
         LIMIT 1) <= {now}
   AND NOT EXISTS (SELECT 1 FROM claimstream_pause p
                    WHERE p.queue = :queue AND p.shard IN (s.shard, 65535)
                      AND (p.resumed_at IS NULL OR (p.shard <> 65535 AND p.resumed_at > {now})))
