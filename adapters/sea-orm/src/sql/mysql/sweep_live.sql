-- A page of live messages in the order of claiming; read in one snapshot, because claims and settlements move them.
SELECT id, queue, CAST(shard AS SIGNED) AS shard,
       TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', available_at) AS due_at
  FROM claimstream_queue
 WHERE queue > :queue
    OR (queue = :queue AND shard > :shard)
    OR (queue = :queue AND shard = :shard
        AND available_at > TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :due_at MICROSECOND)
    OR (queue = :queue AND shard = :shard
        AND available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :due_at MICROSECOND AND id > :after)
 ORDER BY queue, shard, available_at, id
 LIMIT :limit
