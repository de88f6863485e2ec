-- The records of a recipient in a window.
SELECT id, request_id, channel
  FROM claimstream_notification_message
 WHERE id > :after
   AND id <= :last
   AND recipient = :recipient
 ORDER BY id
