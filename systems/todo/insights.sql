-- What a team asks of its lake, over all users: each is a scan of the table otherwise.

-- How many tasks there are, by status and priority.
SELECT status, priority, count(*) AS n FROM Task GROUP BY status, priority ORDER BY status, priority;

-- How long tasks take, in days, by category.
SELECT category, count(*) AS n, round(avg(epoch(completed_at - created_at)) / 86400, 1) AS days
FROM Task WHERE completed_at IS NOT NULL GROUP BY category ORDER BY days DESC;

-- What is overdue, by the day it was due.
SELECT due_date, count(*) AS n FROM Task WHERE status <> 'completed' AND due_date < current_date GROUP BY due_date ORDER BY due_date DESC LIMIT 30;

-- How often a status became another, from the changes.
SELECT coalesce(before.status, '-') AS was, coalesce(after.status, '-') AS became, count(*) AS n
FROM Task_changes GROUP BY was, became ORDER BY n DESC;
