-- Leaves of records that they were there and how they ended; what was pending is not delivered.
UPDATE claimstream_notification_message
   SET recipient = :erased, reason = CASE WHEN reason IS NOT NULL THEN :erased END, reference = NULL,
       status = CASE status WHEN 'PENDING' THEN 'CANCELLED' ELSE status END
 WHERE id IN (:ids)
