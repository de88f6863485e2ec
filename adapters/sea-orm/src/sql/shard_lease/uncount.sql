-- Takes back the attempt that was counted, and the suspicion that was noted, for messages that no handler had begun with. Under a
-- shard lease a message stays where its receipt says.
UPDATE claimstream_queue
   SET attempts     = attempts - 1,
       claimed_from = NULL
 WHERE queue = :queue
   AND shard = :shard
   AND available_at = {moment :lease_end}
   AND id IN (:ids)
   AND claimed_from IS NOT NULL
   AND attempts > 0
