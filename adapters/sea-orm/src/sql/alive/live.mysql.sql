-- A page of live messages in the order of claiming, with when they were stored first; read in one snapshot.
SELECT q.id, q.queue, CAST(q.shard AS SIGNED) AS shard,
       TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', q.available_at) AS due_at,
       {first COALESCE(m.first_at, m.created_at)} AS first_at
  FROM claimstream_queue q
  LEFT JOIN claimstream_message m ON m.id = q.id
 WHERE NOT {unreadable q}
   AND (q.queue > :queue
         OR (q.queue = :queue AND q.shard > :shard)
         OR (q.queue = :queue AND q.shard = :shard
             AND q.available_at > TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :due_at MICROSECOND)
         OR (q.queue = :queue AND q.shard = :shard
             AND q.available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :due_at MICROSECOND AND q.id > :after))
 ORDER BY q.queue, q.shard, q.available_at, q.id
 LIMIT :limit
