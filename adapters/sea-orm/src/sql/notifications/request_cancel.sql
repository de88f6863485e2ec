-- Calls a request off that is locked.
UPDATE claimstream_notification_request
   SET status = 'CANCELLED', changed_at = {now}
 WHERE id = :id
