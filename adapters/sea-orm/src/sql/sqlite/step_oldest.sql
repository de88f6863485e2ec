-- When the oldest message was enqueued that is live or a dead letter, and the least of their ids that tell their time: a
-- message that was revived is stored anew and keeps its id.
SELECT MIN(alive.created_at) AS created_at, MIN(alive.first_id) AS first_id
  FROM (SELECT MIN(m.created_at) AS created_at,
               MIN(CASE WHEN HEX(SUBSTR(q.id, 7, 1)) LIKE '7%' THEN q.id END) AS first_id
          FROM claimstream_queue q
          JOIN claimstream_message m ON m.id = q.id
        UNION ALL
        SELECT MIN(d.created_at),
               MIN(CASE WHEN HEX(SUBSTR(d.id, 7, 1)) LIKE '7%' THEN d.id END)
          FROM claimstream_dead d) alive
