-- Gives messages of one claim back as they were before it.
UPDATE claimstream_queue
   SET available_at = claimed_from,
       attempts     = attempts - 1,
       claim_id     = NULL,
       claimed_from = NULL
 WHERE queue = :queue
   AND shard = :shard
   AND available_at = {moment :lease_end}
   AND id IN (:ids)
   AND claim_id = :claim
