-- Calls a pending request off.
UPDATE claimstream_notification_request
   SET status = 'CANCELLED', changed_at = {now}
 WHERE id = :id AND status = 'PENDING'
