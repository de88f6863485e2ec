-- Makes dead letters claimable again, no attempt counted. A reason that says which providers may have accepted a message is kept.
INSERT INTO claimstream_queue (queue, shard, available_at, id, last_error)
SELECT queue, shard, {now}, id, CASE WHEN reason LIKE 'may have been accepted by %; %' THEN reason END
  FROM claimstream_dead
 WHERE id IN (:ids)
