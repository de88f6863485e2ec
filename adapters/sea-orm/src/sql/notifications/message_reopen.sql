-- Moves a failed message on that was revived.
UPDATE claimstream_notification_message
   SET status = :status, reason = :reason, changed_at = {now}
 WHERE id = :id AND status = 'FAILED'
