-- Ends a lease that has run out, or that an operator takes from its holder: the shard is free, under a new fence.
UPDATE claimstream_lease
   SET holder = NULL, label = NULL, fence = fence + 1, held_until = {now}, in_flight = 0, flights = NULL, token = :token
 WHERE queue = :queue
   AND shard = :shard
   AND fence = :fence
