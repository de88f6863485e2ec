-- What a request came to for one recipient on one channel.
SELECT id, request_id, channel, recipient, status, reason, reference
  FROM claimstream_notification_message
 WHERE id = :id
