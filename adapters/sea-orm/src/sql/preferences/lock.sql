-- What a recipient wants, to be changed in this transaction.
SELECT preferences
  FROM claimstream_preference
 WHERE recipient_hash = :hash
 {for_update}
