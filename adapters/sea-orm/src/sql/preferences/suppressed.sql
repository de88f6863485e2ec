-- A page of the suppressed addresses.
SELECT address_hash, channel, address, reason, note, {since since} AS age
  FROM claimstream_suppression
 WHERE address_hash > :after
 ORDER BY address_hash
 LIMIT :limit
