-- Begins to process a pending request.
UPDATE claimstream_notification_request
   SET status = 'PROCESSING', changed_at = {now}
 WHERE id = :id AND status = 'PENDING'
