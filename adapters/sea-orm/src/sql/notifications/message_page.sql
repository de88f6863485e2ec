-- A page of what a request came to.
SELECT id, channel, recipient, status, reason, reference
  FROM claimstream_notification_message
 WHERE request_id = :id
   AND id > :after
 ORDER BY id
 LIMIT :limit
