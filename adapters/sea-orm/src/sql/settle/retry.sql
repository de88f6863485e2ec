-- Puts messages of one claim off.
UPDATE claimstream_queue
   SET available_at = {later :after},
       claim_id     = NULL,
       claimed_from = NULL,
       last_error   = :reason
 WHERE queue = :queue
   AND shard = :shard
   AND available_at = {moment :lease_end}
   AND id IN (:ids)
   AND claim_id = :claim
