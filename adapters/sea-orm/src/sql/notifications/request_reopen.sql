-- Takes a failed request up again.
UPDATE claimstream_notification_request
   SET status = 'PROCESSING', reason = NULL, changed_at = {now}
 WHERE id = :id AND status = 'FAILED'
