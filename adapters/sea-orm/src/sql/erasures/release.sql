-- Takes the rows of recipients away that were held and are not erased.
DELETE FROM claimstream_erased_recipient
 WHERE recipient_hash IN (:hashes)
