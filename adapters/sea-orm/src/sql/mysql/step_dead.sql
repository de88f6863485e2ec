-- When the oldest dead letter was stored first.
SELECT TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', MIN(d.created_at)) AS created_at
  FROM claimstream_dead d
