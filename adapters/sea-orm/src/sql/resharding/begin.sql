-- Notes that a resharding begins, unless the shards are not so many any more; one that was begun stays.
INSERT INTO claimstream_schema (capability, version, shards, from_shards)
SELECT 'resharding', 1, :shards, :from_shards
  FROM (SELECT COUNT(*) AS there FROM claimstream_shard) counted
 WHERE counted.there = :from_shards
{or_keep version}
