-- When the oldest dead letter was stored first.
SELECT MIN(created_at) AS created_at
  FROM claimstream_dead
