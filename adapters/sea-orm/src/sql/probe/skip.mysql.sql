-- Both connections of the probe: the first one locks the row, and the second one must step over it.
SELECT shard
  FROM claimstream_shard
 WHERE shard = 0
   FOR UPDATE SKIP LOCKED
