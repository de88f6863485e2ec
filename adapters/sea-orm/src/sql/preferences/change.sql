-- Changes what a recipient wants.
UPDATE claimstream_preference
   SET preferences = :preferences, changed_at = {now}
 WHERE recipient_hash = :hash
