-- Locks a row, to see whether a pool ends the transaction.
SELECT shard
  FROM claimstream_shard
 WHERE shard = 0
   FOR UPDATE
