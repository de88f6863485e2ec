-- Suppresses an address. Of two reasons the stronger one stays: a complaint, else a bounce. A row that is there spells the address
-- as before, or from now on as `:spelled`.
INSERT INTO claimstream_suppression (address_hash, channel, address, reason, note, since)
VALUES (:hash, :channel, :address, :reason, :note, {now})
{or_update address_hash}
  address = COALESCE(:spelled, address),
  reason = CASE WHEN reason = 'unsubscribed' OR :reason = 'complained' THEN :reason ELSE reason END,
  note = COALESCE(:note, note)
