-- Finishes messages of a shard whose lease was proven in the same transaction.
DELETE FROM claimstream_queue
 WHERE queue = :queue
   AND shard = :shard
   AND available_at BETWEEN TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :first MICROSECOND
                        AND TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :last MICROSECOND
   AND id IN (:ids)
