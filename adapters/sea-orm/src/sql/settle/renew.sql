-- Moves the end of a claim's lease.
UPDATE claimstream_queue
   SET available_at = {moment :new_end}
 WHERE queue = :queue
   AND shard = :shard
   AND available_at = {moment :lease_end}
   AND id IN (:ids)
   AND claim_id = :claim
