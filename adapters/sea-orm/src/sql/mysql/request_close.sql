-- Ends the processing of a request.
UPDATE claimstream_notification_request
   SET status = :status, reason = :reason, changed_at = UTC_TIMESTAMP(6)
 WHERE id = :id AND status = 'PROCESSING'
