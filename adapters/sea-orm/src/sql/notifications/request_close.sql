-- Ends the processing of a request.
UPDATE claimstream_notification_request
   SET status = :status, reason = :reason, changed_at = {now}
 WHERE id = :id AND status = 'PROCESSING'
