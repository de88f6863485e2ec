-- Notes what became of pending messages that ended alike.
UPDATE claimstream_notification_message
   SET status = :status, reason = :reason, reference = :reference, changed_at = {now}
 WHERE id IN (:ids) AND status = 'PENDING'
