-- Puts messages off where they are, so that what has the same ordering key waits behind them.
UPDATE claimstream_queue
   SET attempts     = attempts + :counted,
       claim_id     = NULL,
       claimed_from = NULL,
       parked_until = {later :after},
       last_error   = :reason
 WHERE queue = :queue
   AND shard = :shard
   AND available_at BETWEEN {moment :first}
                        AND {moment :last}
   AND id IN (:ids)
   -- Of what is repeated because its answer was lost, the first time counts.
   AND attempts <= :attempts
