-- The shards that relays claim from, each with the resharding that is under way, if any: one statement, so that they fit together.
SELECT {signed s.shard} AS shard, {signed r.shards} AS shards, {signed r.from_shards} AS from_shards,
       (r.cut_at IS NOT NULL) AS is_cut
  FROM claimstream_shard s
  LEFT JOIN claimstream_resharding r ON r.number = 1
 ORDER BY s.shard
