-- Suppresses an address. Of two reasons the stronger one stays: a complaint, else a bounce.
INSERT INTO claimstream_suppression (address_hash, channel, address, reason, note, since)
VALUES (:hash, :channel, :address, :reason, :note, {now})
{or_update address_hash}
  reason = CASE WHEN reason = 'unsubscribed' OR :reason = 'complained' THEN :reason ELSE reason END,
  note = COALESCE(:note, note)
