-- The oldest due messages of a shard, without those that wait in their places for a retry.
SELECT id, {micros {now}} - {micros available_at} AS age
  FROM claimstream_queue
 WHERE queue = :queue
   AND shard = :shard
   AND available_at <= {now}
   AND COALESCE(parked_until <= {now}, 1)
 ORDER BY available_at, id
 LIMIT :limit
