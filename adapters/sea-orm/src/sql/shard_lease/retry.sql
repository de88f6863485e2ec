-- Puts messages of a shard off whose lease was proven in the same transaction.
UPDATE claimstream_queue
   SET available_at = {later :after},
       attempts     = attempts + :counted,
       claim_id     = NULL,
       claimed_from = NULL,
       parked_until = NULL,
       last_error   = :reason
 WHERE queue = :queue
   AND shard = :shard
   AND available_at BETWEEN {moment :first}
                        AND {moment :last}
   AND id IN (:ids)
