-- Locks the due entries of messages in one shard, oldest first.
SELECT id, {micros available_at} AS due_at
  FROM claimstream_queue
 WHERE queue = :queue
   AND shard = :shard
   AND available_at <= {now}
   AND id IN (:ids)
 ORDER BY available_at, id
   {for_update}
