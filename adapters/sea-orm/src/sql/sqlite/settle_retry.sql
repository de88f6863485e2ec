-- Puts messages of one claim off.
UPDATE claimstream_queue
   SET available_at = MIN(:now + :after, 253402300799999999),
       claim_id     = NULL,
       claimed_from = NULL,
       last_error   = :reason
 WHERE queue = :queue
   AND shard = :shard
   AND available_at = :lease_end
   AND id IN (:ids)
   AND claim_id = :claim
