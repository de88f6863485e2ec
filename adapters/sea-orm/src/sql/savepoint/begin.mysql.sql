-- Begins a transaction that only the outbox sends statements to, and sets the savepoint that shows later that it is the same one.
BEGIN;
SAVEPOINT claimstream
