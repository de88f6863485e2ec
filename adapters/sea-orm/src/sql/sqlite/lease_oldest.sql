-- The oldest due messages of a shard.
SELECT id, :now - available_at AS age
  FROM claimstream_queue
 WHERE queue = :queue
   AND shard = :shard
   AND available_at <= :now
 ORDER BY available_at, id
 LIMIT :limit
