-- Where a call in a caller's transaction goes back to if it fails.
SAVEPOINT claimstream
