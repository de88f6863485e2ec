-- Locks the lease of a shard that is about to be written, or fails at once if another transaction has locked it.
SELECT 1
  FROM claimstream_lease
 WHERE queue = :queue
   AND shard = :shard
   FOR UPDATE NOWAIT
