-- Takes messages back that are still on their way.
UPDATE claimstream_notification_message
   SET status = 'CANCELLED', changed_at = {now}
 WHERE id IN (:ids) AND status = 'PENDING'
