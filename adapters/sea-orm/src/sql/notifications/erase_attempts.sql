-- Leaves of attempts that they were made and how they ended: a provider's words may name an address.
UPDATE claimstream_notification_attempt
   SET reason = :erased
 WHERE message_id IN (:ids)
   AND reason IS NOT NULL
