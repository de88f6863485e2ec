-- Shows that a transaction of the outbox's own is the one that was begun, and sets the savepoint where a call goes back to if it
-- fails. If the transaction has ended, so has its savepoint: 1305.
RELEASE SAVEPOINT claimstream;
SAVEPOINT claimstream
