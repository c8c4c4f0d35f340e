-- One object a row; parameters are an object.
select * from run_cypher(
  'MATCH (d:Decision)-[:BELONGS_TO]->(p:Project {key: $project}) RETURN d.title AS title, d.status AS status',
  '{"project": "shop"}');

-- The same without Apache AGE.
select from_title as title from graph_edge
where rel = 'BELONGS_TO' and from_label = 'Decision' and to_title = 'shop';
