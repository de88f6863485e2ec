-- Receipts that waited for deliveries which are noted by now, the newest delivery of a reference last. The few
-- that wait are read first, whatever the tables look like.
SELECT w.provider, w.reference, w.kind, w.address, w.said_at, w.note, {since w.seen_at} AS ago, a.message_id
  FROM claimstream_notification_receipt_waiting w
  {then_join} claimstream_notification_attempt a ON a.provider = w.provider AND a.reference = w.reference
 WHERE w.seen_at >= {now} - {span :within}
 ORDER BY w.seen_at, w.provider, w.reference, w.kind, a.began_at
 LIMIT :limit
