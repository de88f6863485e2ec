-- Claims due messages of one shard in one statement, on every server: the lease's end and the fence are its mark.
UPDATE claimstream_queue
   SET claimed_from = available_at,
       available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :lease_end MICROSECOND,
       claim_id     = :claim,
       attempts     = attempts + 1
 WHERE queue = :queue
   AND shard = :shard
   AND available_at <= UTC_TIMESTAMP(6)
   AND available_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :low MICROSECOND
   AND NOT (claim_id <=> :claim)
 ORDER BY available_at, id
 LIMIT :limit
