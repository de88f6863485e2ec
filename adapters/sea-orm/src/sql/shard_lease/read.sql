-- Reads the next due messages of a shard whose lease is free or ours, bodies included unless they are heavy, and its fence;
-- takes no lock. Of a shard in other hands it reads nothing.
SELECT q.id, {micros q.available_at} AS due_at,
       {signed q.attempts} AS attempts, q.last_error,
       (q.claimed_from IS NOT NULL) AS suspect,
       {micros q.parked_until} AS parked_until,
       m.ordering_key, m.headers, m.content_type,
       CASE WHEN {octets m.payload} <= :inline THEN m.payload END AS payload,
       {signed l.fence} AS fence,
       {micros {now}} AS now,
       {signed l.shard} AS shard,
       {signed {octets m.payload}} AS bytes,
       (l.in_flight = 0) AS is_free
  FROM claimstream_lease l
  JOIN claimstream_queue q ON q.queue = :queue AND q.shard = :shard
  LEFT JOIN claimstream_message m ON m.id = q.id
 WHERE l.queue = :queue
   AND l.shard = :shard
   AND (l.holder IS NULL OR l.holder = :holder OR (l.in_flight = 0 AND l.held_until <= {now}))
   AND q.available_at <= {now}
   AND q.available_at >= {moment :low}
   {and_whole q}
 ORDER BY q.available_at, q.id
 LIMIT :limit
