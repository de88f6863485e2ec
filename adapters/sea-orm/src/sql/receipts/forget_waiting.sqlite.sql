-- Forgets receipts that nobody has waited for, some at a time.
DELETE FROM claimstream_notification_receipt_waiting
 WHERE (provider, reference, kind) IN (SELECT provider, reference, kind FROM claimstream_notification_receipt_waiting
                                        WHERE seen_at < :now - :age ORDER BY seen_at LIMIT :limit)
