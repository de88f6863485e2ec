-- Bodies of messages that have an ordering key, by id.
SELECT id, {signed shard} AS shard, ordering_key
  FROM claimstream_message
 WHERE id > :after
   AND ordering_key IS NOT NULL
 ORDER BY claimstream_message.id
 LIMIT :limit
