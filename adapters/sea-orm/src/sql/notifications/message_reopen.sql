-- Makes a failed message pending again.
UPDATE claimstream_notification_message
   SET status = 'PENDING', reason = NULL, changed_at = {now}
 WHERE id = :id AND status = 'FAILED'
