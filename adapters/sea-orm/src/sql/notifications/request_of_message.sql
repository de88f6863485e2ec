-- Locks the request of a message that is to be moved on.
SELECT status
  FROM claimstream_notification_request
 WHERE id = (SELECT m.request_id FROM claimstream_notification_message m WHERE m.id = :id)
 {for_update}
