-- Which call has published a version.
SELECT publication
  FROM claimstream_template_version
 WHERE template_id = :template
   AND number = :number
