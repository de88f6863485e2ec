-- Makes a failed message pending again.
UPDATE claimstream_notification_message
   SET status = 'PENDING', reason = NULL, changed_at = UTC_TIMESTAMP(6)
 WHERE id = :id AND status = 'FAILED'
