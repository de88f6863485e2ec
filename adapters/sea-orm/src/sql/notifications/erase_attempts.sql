-- Leaves of attempts that they were made and how they ended: a provider's words may name an address, and its name for a delivery
-- leads to one.
UPDATE claimstream_notification_attempt
   SET reason = CASE WHEN reason IS NOT NULL THEN :erased END, reference = NULL
 WHERE message_id IN (:ids)
   AND (reason IS NOT NULL OR reference IS NOT NULL)
