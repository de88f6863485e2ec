-- Lets an address be written to again.
DELETE FROM claimstream_suppression
 WHERE address_hash = :hash
