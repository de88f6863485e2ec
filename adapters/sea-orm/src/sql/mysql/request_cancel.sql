-- Calls a pending request off.
UPDATE claimstream_notification_request
   SET status = 'CANCELLED', changed_at = UTC_TIMESTAMP(6)
 WHERE id = :id AND status = 'PENDING'
