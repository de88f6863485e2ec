-- Dead letters without a body, dead letters with another message's id, and messages with two entries in one shard.
SELECT (SELECT COUNT(*)
          FROM claimstream_dead d
          LEFT JOIN claimstream_message m ON m.id = d.id
         WHERE m.id IS NULL)                                      AS bare,
       (SELECT COUNT(*)
          FROM claimstream_dead d
          JOIN claimstream_message m ON m.id = d.id
         WHERE COALESCE(m.first_at, m.created_at) <> d.created_at) AS reused,
       (SELECT COUNT(*)
          FROM (SELECT id
                  FROM claimstream_queue
                 GROUP BY queue, shard, id
                HAVING COUNT(*) > 1) t)                           AS doubled
