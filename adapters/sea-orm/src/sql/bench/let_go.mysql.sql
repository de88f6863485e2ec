-- Lets go of the name again.
SELECT {signed COALESCE(RELEASE_LOCK(:name), 0)} AS held
