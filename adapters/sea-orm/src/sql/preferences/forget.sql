-- Forgets what a recipient wants.
DELETE FROM claimstream_preference
 WHERE recipient_hash = :hash
