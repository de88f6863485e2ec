-- Gives messages of one claim back as they were before it.
UPDATE claimstream_queue
   SET available_at = claimed_from,
       attempts     = attempts - 1,
       claim_id     = NULL,
       claimed_from = NULL
 WHERE queue = :queue
   AND shard = :shard
   AND available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :lease_end MICROSECOND
   AND id IN (:ids)
   AND claim_id = :claim
