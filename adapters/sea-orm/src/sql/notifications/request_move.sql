-- Moves requests on that are locked.
UPDATE claimstream_notification_request
   SET status = :status, reason = :reason, changed_at = {now}
 WHERE id IN (:ids)
