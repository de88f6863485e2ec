-- Holds the name of a bench's database for as long as the connection lasts; not held if another run holds it.
SELECT {signed COALESCE(GET_LOCK(:name, 0), 0)} AS held
