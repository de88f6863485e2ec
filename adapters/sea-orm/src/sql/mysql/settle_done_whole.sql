-- Finishes all messages that one claim still holds in a shard.
DELETE FROM claimstream_queue
 WHERE queue = :queue
   AND shard = :shard
   AND available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :lease_end MICROSECOND
   AND claim_id = :claim
