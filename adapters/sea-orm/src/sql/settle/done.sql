-- Finishes messages of one claim; a row that was lost to another claim does not match.
DELETE FROM claimstream_queue
 WHERE queue = :queue
   AND shard = :shard
   AND available_at = {moment :lease_end}
   AND id IN (:ids)
   AND claim_id = :claim
