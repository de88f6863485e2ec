-- The oldest due messages of a shard, without those that wait in their places for a retry.
SELECT id, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)) - TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', available_at) AS age
  FROM claimstream_queue
 WHERE queue = :queue
   AND shard = :shard
   AND available_at <= UTC_TIMESTAMP(6)
   AND COALESCE(parked_until <= UTC_TIMESTAMP(6), 1)
 ORDER BY available_at, id
 LIMIT :limit
