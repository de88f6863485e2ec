-- Locks the due entries of messages in one shard, oldest first.
SELECT id, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', available_at) AS due_at
  FROM claimstream_queue
 WHERE queue = :queue
   AND shard = :shard
   AND available_at <= UTC_TIMESTAMP(6)
   AND id IN (:ids)
 ORDER BY available_at, id
   FOR UPDATE
