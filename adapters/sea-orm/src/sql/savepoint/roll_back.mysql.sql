-- Rolls a transaction of the outbox's own back.
ROLLBACK
