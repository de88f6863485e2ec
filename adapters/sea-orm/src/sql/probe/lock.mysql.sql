-- First connection of the probe: locks a row.
SELECT shard
  FROM claimstream_shard
 WHERE shard = 0
   FOR UPDATE
