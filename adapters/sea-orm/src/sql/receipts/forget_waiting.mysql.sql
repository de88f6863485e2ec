-- Forgets receipts that nobody has waited for, some at a time.
DELETE FROM claimstream_notification_receipt_waiting
 WHERE seen_at < UTC_TIMESTAMP(6) - INTERVAL :age MICROSECOND
 ORDER BY seen_at
 LIMIT :limit
