-- Takes back the attempt that was counted for a claim when the next one took its messages, while that one holds them; the microsecond
-- sees to it that this happens once. No lease is longer than 12 hours, so what is delayed for longer is not looked at.
UPDATE claimstream_queue
   SET attempts     = attempts - 1,
       claimed_from = claimed_from - {span 1}
 WHERE queue = :queue
   AND shard = :shard
   AND available_at > {now}
   AND available_at <= {now} + {span 43200000000}
   AND id IN (:ids)
   AND NOT (claim_id = :claim)
   AND claimed_from = {moment :lease_end}
   AND attempts > 1
