-- Ends an entry of a message that has an older one, which is locked in the same transaction.
DELETE FROM claimstream_queue
 WHERE queue = :queue
   AND shard = :shard
   AND available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :due_at MICROSECOND
   AND id = :id
