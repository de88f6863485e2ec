-- Some messages of a request that are on their way.
SELECT id
  FROM claimstream_notification_message
 WHERE request_id = :id
   AND id > :after
   AND status = 'PENDING'
 ORDER BY id
 LIMIT :limit
