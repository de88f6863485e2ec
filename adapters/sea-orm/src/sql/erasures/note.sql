-- Notes that a recipient was erased, or was once more and later than before, so that the row changes; waits while a restored record holds it.
INSERT INTO claimstream_erased_recipient (recipient_hash, erased_at)
VALUES (:hash, {now})
{or_update recipient_hash}
  erased_at = {greatest}(COALESCE(erased_at + {span :moment}, {now}), {now})
