-- Finishes messages of one claim; a row that was lost to another claim does not match.
DELETE FROM claimstream_queue
 WHERE queue = :queue
   AND shard = :shard
   AND available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :lease_end MICROSECOND
   AND id IN (:ids)
   AND claim_id = :claim
