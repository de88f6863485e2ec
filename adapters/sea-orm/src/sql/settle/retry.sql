-- Puts messages of one claim off; an attempt that tried nothing is uncounted.
UPDATE claimstream_queue
   SET available_at = {later :after},
       attempts     = attempts - :uncounted,
       claim_id     = NULL,
       claimed_from = NULL,
       last_error   = :reason
 WHERE queue = :queue
   AND shard = :shard
   AND available_at = {moment :lease_end}
   AND id IN (:ids)
   AND claim_id = :claim
