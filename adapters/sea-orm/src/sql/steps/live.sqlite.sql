-- A page of live messages in the order of claiming, with when they were stored first; read in one snapshot.
SELECT q.id, q.queue, q.shard, q.available_at AS due_at, COALESCE(m.first_at, m.created_at) AS first_at
  FROM claimstream_queue q
  LEFT JOIN claimstream_message m ON m.id = q.id
 WHERE (q.queue, q.shard, q.available_at, q.id) > (:queue, :shard, :due_at, :after)
 ORDER BY q.queue, q.shard, q.available_at, q.id
 LIMIT :limit
