-- The same where it is not known whether there is a transaction: without one a savepoint is gone at once, and to release it
-- is refused with 1305.
SAVEPOINT claimstream;
RELEASE SAVEPOINT claimstream;
SAVEPOINT claimstream
