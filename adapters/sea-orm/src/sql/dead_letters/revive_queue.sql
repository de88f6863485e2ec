-- Makes dead letters claimable again, no attempt counted.
INSERT INTO claimstream_queue (queue, shard, available_at, id)
SELECT queue, shard, {now}, id
  FROM claimstream_dead
 WHERE id IN (:ids)
