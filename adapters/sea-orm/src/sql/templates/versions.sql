-- The versions of a template, the newest first.
SELECT {signed number} AS version, {signed restores} AS restores, {since published_at} AS age
  FROM claimstream_template_version
 WHERE template_id = :template
   AND number < :below
 ORDER BY number DESC
 LIMIT :limit
