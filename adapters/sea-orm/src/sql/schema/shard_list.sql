-- The shards that queues are cut into.
SELECT shard
  FROM claimstream_shard
 ORDER BY shard
