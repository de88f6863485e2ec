-- Takes the lease of a shard in which nothing is in flight, and leaves it free under a new fence: a relay that has read the shard before
-- claims nothing of what it has read.
UPDATE claimstream_lease
   SET holder = NULL, label = NULL, fence = fence + 1, held_until = {now}, in_flight = 0, flights = NULL, token = :token
 WHERE queue = :queue
   AND shard = :shard
   AND fence = :fence
   AND (holder IS NULL OR (in_flight = 0 AND held_until <= {now}))
