-- Ends an entry of a message that has an older one, which is locked in the same transaction.
DELETE FROM claimstream_queue
 WHERE queue = :queue
   AND shard = :shard
   AND available_at = {moment :due_at}
   AND id = :id
