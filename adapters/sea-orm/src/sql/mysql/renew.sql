-- Moves the end of a claim's lease.
UPDATE claimstream_queue
   SET available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :new_end MICROSECOND
 WHERE queue = :queue
   AND shard = :shard
   AND available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :lease_end MICROSECOND
   AND id IN (:ids)
   AND claim_id = :claim
