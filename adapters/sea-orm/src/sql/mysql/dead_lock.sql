-- Locks those of a page that are still there and have not died anew.
SELECT id
  FROM claimstream_dead
 WHERE id IN (:ids)
   AND died_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND
 ORDER BY id
   FOR UPDATE
