-- Finishes messages of a shard whose lease was proven in the same transaction.
DELETE FROM claimstream_queue
 WHERE queue = :queue
   AND shard = :shard
   AND available_at BETWEEN {moment :first}
                        AND {moment :last}
   AND id IN (:ids)
