-- When the oldest dead letter was stored first.
SELECT {micros MIN(d.created_at)} AS created_at
  FROM claimstream_dead d
