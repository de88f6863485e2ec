-- Where requests stand that steps are noted of; a transaction that moves one of them on waits.
SELECT id, status, reason
  FROM claimstream_notification_request
 WHERE id IN (:ids)
 ORDER BY id
 {for_update}
