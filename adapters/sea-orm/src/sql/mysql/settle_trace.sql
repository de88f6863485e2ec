-- Finds messages of one claim behind a renewal whose answer was lost.
SELECT id, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', available_at) AS lease_end
  FROM claimstream_queue
 WHERE queue = :queue
   AND shard = :shard
   AND available_at > TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :lease_end MICROSECOND
   AND claim_id = :claim
