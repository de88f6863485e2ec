-- A page of the dead letters that match and died before the work on them began, by id; takes no lock.
SELECT id
  FROM claimstream_dead
 WHERE id > :after
   AND (:queue IS NULL OR queue = :queue)
   AND (:all_ids OR id IN (:ids))
   AND died_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND
 ORDER BY id
 LIMIT :limit
