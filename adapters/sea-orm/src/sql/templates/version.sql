-- A version of a template.
SELECT content
  FROM claimstream_template_version
 WHERE template_id = :template
   AND number = :number
