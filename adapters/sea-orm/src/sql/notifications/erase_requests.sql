-- A page of requests, to be looked through for a recipient.
SELECT id, request
  FROM claimstream_notification_request
 WHERE id > :after
 ORDER BY id
 LIMIT :limit
