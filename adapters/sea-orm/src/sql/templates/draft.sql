-- The draft of a template.
SELECT draft, {signed revision} AS revision, {since changed_at} AS age
  FROM claimstream_template
 WHERE template_id = :template
