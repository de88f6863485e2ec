-- The payload of a message that is kept, for its address.
SELECT payload
  FROM claimstream_message
 WHERE id = :id
