-- Leaves no words of providers at entries of notification messages, claimed or not; it ends and extends no claim.
UPDATE claimstream_queue
   SET last_error = NULL
 WHERE queue = :queue
   AND shard = :shard
   AND id IN (:ids)
   AND last_error IS NOT NULL
