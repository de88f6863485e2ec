-- Moves messages that wait to another shard; what is in hand stays until it has ended.
UPDATE claimstream_queue
   SET shard = :target
 WHERE queue = :queue
   AND shard = :shard
   AND available_at BETWEEN {moment :first}
                        AND {moment :last}
   AND id IN (:ids)
   AND (claim_id IS NULL OR available_at <= {now})
