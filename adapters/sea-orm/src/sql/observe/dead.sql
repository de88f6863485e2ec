-- How many dead letters every queue has.
SELECT queue, COUNT(*) AS dead
  FROM claimstream_dead
 GROUP BY queue
