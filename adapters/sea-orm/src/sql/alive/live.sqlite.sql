-- A page of live messages in the order of claiming, with when they were stored first; read in one snapshot.
SELECT q.id, q.queue, q.shard, q.available_at AS due_at, {first COALESCE(m.first_at, m.created_at)} AS first_at
  FROM claimstream_queue q
  LEFT JOIN claimstream_message m ON m.id = q.id
 WHERE (q.queue, q.shard, q.available_at, q.id) > ({text :queue}, :shard, :due_at, :after)
   AND NOT {unreadable q}
 ORDER BY q.queue, q.shard, q.available_at, q.id
 LIMIT :limit
