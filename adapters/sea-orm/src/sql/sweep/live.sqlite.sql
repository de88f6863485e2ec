-- A page of live messages in the order of claiming; read in one snapshot, because claims and settlements move them.
SELECT q.id, q.queue, q.shard, q.available_at AS due_at
  FROM claimstream_queue q
 WHERE (q.queue, q.shard, q.available_at, q.id) > ({text :queue}, :shard, :due_at, :after)
   AND NOT {unreadable q}
 ORDER BY q.queue, q.shard, q.available_at, q.id
 LIMIT :limit
