-- A page of live messages that no claim can read, by id: a program wrote them wrong, and their bodies stay.
SELECT q.id
  FROM claimstream_queue q
 WHERE {unreadable q}
   {and_whole q}
   AND q.id > :after
 ORDER BY q.id
 LIMIT :limit
