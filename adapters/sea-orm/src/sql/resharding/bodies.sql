-- Bodies of messages, by id. Those without an ordering key are read too, because a statement that looks for others may read them all.
SELECT id, {signed shard} AS shard, ordering_key
  FROM claimstream_message
 WHERE id > :after
 ORDER BY claimstream_message.id
 LIMIT :limit
