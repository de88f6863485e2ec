-- A page of bodies that were stored before the sweep's bound, among the ids from one to another.
SELECT id
  FROM claimstream_message
 WHERE id > :after
   AND id <= :last
   AND created_at < {moment :bound}
 ORDER BY id
 LIMIT :limit
