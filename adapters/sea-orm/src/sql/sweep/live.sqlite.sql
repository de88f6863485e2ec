-- A page of live messages in the order of claiming; read in one snapshot, because claims and settlements move them.
SELECT id, queue, shard, available_at AS due_at
  FROM claimstream_queue
 WHERE (queue, shard, available_at, id) > (:queue, :shard, :due_at, :after)
 ORDER BY queue, shard, available_at, id
 LIMIT :limit
