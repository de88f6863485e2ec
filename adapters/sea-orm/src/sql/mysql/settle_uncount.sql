-- Takes back the attempt that was counted for a claim when the next one took its messages, while that one holds them; the microsecond
-- sees to it that this happens once. No lease is longer than 12 hours, so what is delayed for longer is not looked at.
UPDATE claimstream_queue
   SET attempts     = attempts - 1,
       claimed_from = claimed_from - INTERVAL 1 MICROSECOND
 WHERE queue = :queue
   AND shard = :shard
   AND available_at > UTC_TIMESTAMP(6)
   AND available_at <= UTC_TIMESTAMP(6) + INTERVAL 12 HOUR
   AND id IN (:ids)
   AND NOT (claim_id = :claim)
   AND claimed_from = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :lease_end MICROSECOND
   AND attempts > 1
