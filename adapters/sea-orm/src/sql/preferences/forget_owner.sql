-- Forgets whose some suppressed addresses are; they are suppressed as before.
UPDATE claimstream_suppression
   SET address = :erased, note = NULL
 WHERE address_hash IN (:addresses)
