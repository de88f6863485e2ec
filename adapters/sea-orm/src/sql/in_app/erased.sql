-- Messages whose recipients were erased: nothing of them is put into an inbox. An erasure locks the records first as well.
SELECT id
  FROM claimstream_notification_message
 WHERE id IN (:ids)
   AND recipient = :erased
 ORDER BY id
 {for_share}
