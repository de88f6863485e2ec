-- In which shards messages are kept, and since when.
SELECT id, queue, {signed shard} AS shard, {micros created_at} AS since
  FROM claimstream_message
 WHERE id IN (:ids)
