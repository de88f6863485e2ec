-- Finds messages of one claim behind a renewal whose answer was lost.
SELECT id, {micros available_at} AS lease_end
  FROM claimstream_queue
 WHERE queue = :queue
   AND shard = :shard
   AND available_at > {moment :lease_end}
   AND claim_id = :claim
