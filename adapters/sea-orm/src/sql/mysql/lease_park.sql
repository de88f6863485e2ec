-- Puts messages off where they are, so that what has the same ordering key waits behind them.
UPDATE claimstream_queue
   SET attempts     = attempts + 1,
       claim_id     = NULL,
       claimed_from = NULL,
       parked_until = UTC_TIMESTAMP(6) + INTERVAL LEAST(:after, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), TIMESTAMP'9999-12-31 23:59:59.999999')) MICROSECOND,
       last_error   = :reason
 WHERE queue = :queue
   AND shard = :shard
   AND available_at BETWEEN TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :first MICROSECOND
                        AND TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :last MICROSECOND
   AND id IN (:ids)
   -- Of what is repeated because its answer was lost, the first time counts.
   AND attempts <= :attempts
