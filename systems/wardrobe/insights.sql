-- What a team asks of its lake, over all users.

-- Items by category and season.
SELECT Category, Season, count(*) AS n FROM Item GROUP BY Category, Season ORDER BY Category, Season;

-- Colours and brands that people have most.
SELECT Color, Brand, count(*) AS n FROM Item GROUP BY Color, Brand ORDER BY n DESC, Color, Brand LIMIT 20;

-- How many are active, by month.
SELECT date_trunc('month', "Timestamp") AS month, count(DISTINCT UserId) AS users, count(*) AS activities FROM Activity GROUP BY month ORDER BY month;
