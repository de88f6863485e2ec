-- A page of live messages that no claim can read, by id: a program wrote them wrong, and their bodies stay. They stand at the front of each shard.
SELECT q.id
  FROM (SELECT queue, shard
          FROM claimstream_queue {by_primary}
         GROUP BY queue, shard
        HAVING MIN(available_at) < TIMESTAMP'1970-01-01 00:00:00') place
  STRAIGHT_JOIN claimstream_queue q {by_primary}
    ON q.queue = place.queue AND q.shard = place.shard AND {unreadable q}
 WHERE q.id > :after
 ORDER BY q.id
 LIMIT :limit
