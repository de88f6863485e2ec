-- The dead letters of fan-outs: their requests are kept, because they may be revived.
SELECT payload
  FROM claimstream_dead
 WHERE queue IN (:queues)
 LIMIT :limit
