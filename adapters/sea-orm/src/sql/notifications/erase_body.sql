-- Leaves the frame of a notification message, queued or finished.
UPDATE claimstream_message
   SET payload = :payload, headers = NULL
 WHERE id = :id AND queue IN (:queues)
