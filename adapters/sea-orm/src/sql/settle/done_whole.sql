-- Finishes all messages that one claim still holds in a shard.
DELETE FROM claimstream_queue
 WHERE queue = :queue
   AND shard = :shard
   AND available_at = {moment :lease_end}
   AND claim_id = :claim
