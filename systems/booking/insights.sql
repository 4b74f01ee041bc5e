-- What a team asks of its lake, over all users.

-- Bookings by status.
SELECT status, count(*) AS n FROM Booking GROUP BY status ORDER BY status;

-- Occupancy of the hall: days with an approved booking, by month.
SELECT date_trunc('month', date) AS month, count(DISTINCT date) AS days, sum(attendees) AS attendees
FROM Booking WHERE status = 'approved' GROUP BY month ORDER BY month;

-- What was paid, by month and method, exactly.
SELECT date_trunc('month', paidAt) AS month, method, currency, sum(amount) AS paid
FROM Payment WHERE paidAt IS NOT NULL GROUP BY month, method, currency ORDER BY month, method;

-- How many days ahead people ask.
SELECT duration, count(*) AS n, round(avg(epoch(date::TIMESTAMPTZ - requestedAt)) / 86400) AS days_ahead FROM Booking GROUP BY duration;
