-- The messages that a provider has taken under these references, the newest delivery of a reference last.
SELECT reference, message_id
  FROM claimstream_notification_attempt
 WHERE provider = :provider
   AND reference IN (:references)
 ORDER BY began_at, message_id
