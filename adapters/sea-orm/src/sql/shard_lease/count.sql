-- Counts an attempt for messages whose claim ran out in the hands of a process that lives; they are no suspects.
UPDATE claimstream_queue
   SET attempts     = attempts + 1,
       claim_id     = NULL,
       claimed_from = NULL
 WHERE queue = :queue
   AND shard = :shard
   AND available_at BETWEEN {moment :first}
                        AND {moment :last}
   AND id IN (:ids)
