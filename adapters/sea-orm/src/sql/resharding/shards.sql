-- The shards that relays claim from, each with the resharding that is under way, if any: one statement, so that they fit together.
SELECT {signed s.shard} AS shard, {signed r.shards} AS shards, {signed r.from_shards} AS from_shards,
       (r.applied_at IS NOT NULL) AS is_cut
  FROM claimstream_shard s
  LEFT JOIN claimstream_schema r ON r.capability = 'resharding' AND r.version = 1
 ORDER BY s.shard
