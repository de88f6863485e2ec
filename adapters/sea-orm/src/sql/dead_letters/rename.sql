-- Gives a dead letter another id, because a second message has its own.
UPDATE claimstream_dead
   SET id = :fresh
 WHERE id = :id
