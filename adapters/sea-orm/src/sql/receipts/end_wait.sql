-- Forgets a receipt that waited.
DELETE FROM claimstream_notification_receipt_waiting
 WHERE provider = :provider
   AND reference = :reference
   AND kind = :kind
