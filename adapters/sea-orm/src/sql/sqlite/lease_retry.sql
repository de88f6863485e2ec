-- Puts messages of a shard off whose lease was proven in the same transaction.
UPDATE claimstream_queue
   SET available_at = MIN(:now + :after, 253402300799999999),
       attempts     = attempts + 1,
       claim_id     = NULL,
       claimed_from = NULL,
       parked_until = NULL,
       last_error   = :reason
 WHERE queue = :queue
   AND shard = :shard
   AND available_at BETWEEN :first AND :last
   AND id IN (:ids)
