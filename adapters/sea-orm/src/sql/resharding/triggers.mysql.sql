-- Which triggers of a resharding are there; a user sees those of tables on which it has the right to make them.
SELECT trigger_name AS name
  FROM information_schema.triggers
 WHERE trigger_schema = DATABASE()
   AND trigger_name IN (:names)
