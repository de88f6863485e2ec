-- The end of a window of records that are looked through for a recipient; none if fewer are left.
SELECT id
  FROM claimstream_notification_message
 WHERE id > :after
 ORDER BY id
 LIMIT 1 OFFSET :size
