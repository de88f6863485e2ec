-- Ends an entry of a message that has an older one, in the transaction that has found both.
DELETE FROM claimstream_queue
 WHERE queue = :queue
   AND shard = :shard
   AND available_at = :due_at
   AND id = :id
