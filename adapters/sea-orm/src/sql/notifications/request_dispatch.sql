-- Marks requests as dispatched, those of them that are open.
UPDATE claimstream_notification_request
   SET status = 'DISPATCHED', reason = NULL, changed_at = {now}
 WHERE id IN (:ids) AND status IN ('PENDING', 'PROCESSING')
