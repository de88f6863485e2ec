-- Locks those messages of one claim that are still its own.
SELECT id
  FROM claimstream_queue
 WHERE queue = :queue
   AND shard = :shard
   AND available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :lease_end MICROSECOND
   AND id IN (:ids)
   AND claim_id = :claim
   FOR UPDATE
