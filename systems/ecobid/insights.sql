-- What a team asks of its lake, over all users.

-- Items by category and status.
SELECT category, status, count(*) AS n FROM Item GROUP BY category, status ORDER BY category, status;

-- Items that were given away, by city.
SELECT location.city AS city, count(*) AS n FROM Item WHERE status = 'completed' GROUP BY city ORDER BY n DESC, city;

-- Auctions: bids, and what the last bid is over the first.
SELECT Auction.auctionId, count(*) AS bids, max(Bid.amount) - min(Auction.minBid) AS over_minimum
FROM Auction JOIN Bid ON Bid.auctionId = Auction.auctionId GROUP BY Auction.auctionId ORDER BY over_minimum DESC;

-- How long a reservation takes from its beginning to its end, in hours.
SELECT status, count(*) AS n, round(avg(epoch(endedAt - createdAt)) / 3600, 1) AS hours FROM Reservation WHERE endedAt IS NOT NULL GROUP BY status;
