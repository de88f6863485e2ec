-- Notes what became of messages that ended alike: of pending ones, and of those that were taken back and delivered all the same.
UPDATE claimstream_notification_message
   SET status = :status, reason = :reason, reference = :reference, changed_at = {now}
 WHERE id IN (:ids) AND (status = 'PENDING' OR (status = 'CANCELLED' AND :status = 'DELIVERED'))
