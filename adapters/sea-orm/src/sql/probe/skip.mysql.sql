-- Second connection of the probe: must step over the row that the first one holds.
SELECT shard
  FROM claimstream_shard
 WHERE shard = 0
   FOR UPDATE SKIP LOCKED
