-- Puts messages of a shard off whose lease was proven in the same transaction.
UPDATE claimstream_queue
   SET available_at = UTC_TIMESTAMP(6) + INTERVAL LEAST(:after, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), TIMESTAMP'9999-12-31 23:59:59.999999')) MICROSECOND,
       attempts     = attempts + 1,
       claim_id     = NULL,
       claimed_from = NULL,
       parked_until = NULL,
       last_error   = :reason
 WHERE queue = :queue
   AND shard = :shard
   AND available_at BETWEEN TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :first MICROSECOND
                        AND TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :last MICROSECOND
   AND id IN (:ids)
