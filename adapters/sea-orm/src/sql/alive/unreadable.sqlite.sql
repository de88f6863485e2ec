-- When the oldest live message that no claim can read was stored first.
SELECT MIN({first COALESCE(m.first_at, m.created_at)}) AS first_at
  FROM claimstream_queue q
  JOIN claimstream_message m ON m.id = q.id
 WHERE {unreadable q}
