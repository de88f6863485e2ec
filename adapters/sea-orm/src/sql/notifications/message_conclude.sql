-- Notes what became of messages that ended alike: of pending ones, a skip of those that failed too, and a delivery of all that were not
-- delivered. Nothing is said of a recipient that was erased.
UPDATE claimstream_notification_message
   SET status = :status, reason = CASE recipient WHEN :erased THEN NULL ELSE :reason END,
       reference = CASE recipient WHEN :erased THEN NULL ELSE :reference END, changed_at = {now}
 WHERE id IN (:ids) AND (status = 'PENDING' OR (status <> 'DELIVERED' AND :status = 'DELIVERED') OR (status = 'FAILED' AND :status = 'SKIPPED'))
