-- Leaves the frame of a notification message that is a dead letter.
UPDATE claimstream_dead
   SET payload = :payload, headers = NULL, reason = :erased
 WHERE id = :id AND queue IN (:queues)
