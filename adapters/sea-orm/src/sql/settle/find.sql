-- Locks those messages of one claim that are still its own.
SELECT id
  FROM claimstream_queue
 WHERE queue = :queue
   AND shard = :shard
   AND available_at = {moment :lease_end}
   AND id IN (:ids)
   AND claim_id = :claim
   {for_update}
