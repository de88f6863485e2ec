-- Counts an attempt for messages that were in flight when their lease ran out, and marks them as suspects.
UPDATE claimstream_queue
   SET attempts     = attempts + 1,
       claim_id     = NULL,
       claimed_from = available_at
 WHERE queue = :queue
   AND shard = :shard
   AND available_at BETWEEN {moment :first}
                        AND {moment :last}
   AND id IN (:ids)
