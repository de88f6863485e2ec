-- Dead letters, by id.
SELECT id, {signed shard} AS shard, ordering_key
  FROM claimstream_dead
 WHERE id > :after
 ORDER BY claimstream_dead.id
 LIMIT :limit
