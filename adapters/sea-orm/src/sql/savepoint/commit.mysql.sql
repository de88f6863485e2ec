-- Commits a transaction of the outbox's own if it is the one that was begun. If it has ended, so has its savepoint: 1305, and what
-- follows is not carried out.
RELEASE SAVEPOINT claimstream;
COMMIT
