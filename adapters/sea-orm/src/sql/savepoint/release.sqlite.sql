-- Lets go of the savepoint of a call that went well.
RELEASE SAVEPOINT claimstream
