-- The version of a template that is sent: the newest one.
SELECT content
  FROM claimstream_template_version
 WHERE template_id = :template
 ORDER BY number DESC
 LIMIT 1
