-- Takes the rows of recipients away that were held.
DELETE FROM claimstream_erased_recipient
 WHERE recipient_hash IN (:hashes)
