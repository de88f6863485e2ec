-- Ends a lease that has run out: the shard is free, under a new fence.
UPDATE claimstream_lease
   SET holder = NULL, fence = fence + 1, in_flight = 0, flights = NULL, token = :token
 WHERE queue = :queue
   AND shard = :shard
   AND fence = :fence
