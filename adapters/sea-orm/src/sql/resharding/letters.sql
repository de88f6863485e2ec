-- Dead letters that have an ordering key, by id.
SELECT id, {signed shard} AS shard, ordering_key
  FROM claimstream_dead
 WHERE id > :after
   AND ordering_key IS NOT NULL
 ORDER BY claimstream_dead.id
 LIMIT :limit
