-- Puts messages of one claim off.
UPDATE claimstream_queue
   SET available_at = UTC_TIMESTAMP(6) + INTERVAL LEAST(:after, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), TIMESTAMP'9999-12-31 23:59:59.999999')) MICROSECOND,
       claim_id     = NULL,
       claimed_from = NULL,
       last_error   = :reason
 WHERE queue = :queue
   AND shard = :shard
   AND available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :lease_end MICROSECOND
   AND id IN (:ids)
   AND claim_id = :claim
