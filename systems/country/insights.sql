-- What a team asks of its lake.

-- Countries by the first letter of their code.
SELECT substr(alpha2Code, 1, 1) AS letter, count(*) AS n FROM Country GROUP BY letter ORDER BY letter;

-- What happened to each country, the busiest first.
SELECT key, count(*) AS changes, max(changed_at) AS last FROM Country_changes GROUP BY key ORDER BY changes DESC, key LIMIT 20;

-- The names that countries had, in their order.
SELECT number, after.alpha2Code AS code, before.name AS was, after.name AS became
FROM Country_changes WHERE before.name IS DISTINCT FROM after.name ORDER BY number;
