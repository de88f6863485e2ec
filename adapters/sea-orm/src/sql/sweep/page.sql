-- A page of bodies that were stored before the sweep's bound, among the ids from one to another.
SELECT m.id
  FROM claimstream_message m
 WHERE m.id > :after
   AND m.id <= :last
   AND m.created_at < {moment :bound}
   {and_whole m}
 ORDER BY m.id
 LIMIT :limit
