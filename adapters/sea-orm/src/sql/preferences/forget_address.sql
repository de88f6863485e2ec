-- Forgets whose the preferences of some addresses are; they hold as before.
UPDATE claimstream_preference
   SET recipient = :erased
 WHERE recipient_hash IN (:recipients)
