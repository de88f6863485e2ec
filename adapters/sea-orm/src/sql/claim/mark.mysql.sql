-- Claims the messages that claim_lock has locked, on the same conditions.
UPDATE claimstream_queue
   SET claimed_from = available_at,
       available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :lease_end MICROSECOND,
       claim_id     = :claim,
       attempts     = attempts + 1
 WHERE queue = :queue
   AND shard = :shard
   AND available_at BETWEEN TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :first MICROSECOND
                        AND TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :last MICROSECOND
   AND available_at <= UTC_TIMESTAMP(6)
   AND NOT (claim_id <=> :claim)
   AND id IN (:ids)
