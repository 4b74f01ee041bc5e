// The API of todo and ecobid as a team would write it on Express and ElectroDB: the routes that are measured, with the checks
// that the service makes of tokens and bodies. One process, or a cluster of WORKERS.

import cluster from "node:cluster";
import { createSecretKey } from "node:crypto";
import { QueryCommand } from "@aws-sdk/lib-dynamodb";
import express from "express";
import jwt from "jsonwebtoken";
import geohash from "ngeohash";
import { ulid } from "ulid";
import { z } from "zod";
import { CATEGORIES, client, ecobid, ECOBID_TABLE, MODES, PRIORITIES, STATUSES, todo } from "./tables.mjs";

const ULID = z.string().regex(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
const LIMIT = z.coerce.number().int().min(1).max(100).default(20);
const TaskList = z.strictObject({ status: z.enum(STATUSES), limit: LIMIT, cursor: z.string().optional() });
const ItemList = z.strictObject({ category: z.enum(CATEGORIES), limit: LIMIT, cursor: z.string().optional() });
const NewTask = z.strictObject({
  title: z.string().min(1).max(200),
  description: z.string().max(1000).optional(),
  priority: z.enum(PRIORITIES).optional(),
  category: z.string().min(1).max(50).optional(),
  due_date: z.iso.date().optional(),
});
const NewItem = z.strictObject({
  title: z.string().min(3).max(100),
  description: z.string().max(1000),
  category: z.enum(CATEGORIES),
  mode: z.enum(MODES),
  location: z.strictObject({
    lat: z.number().min(-90).max(90),
    lon: z.number().min(-180).max(180),
    city: z.string().min(1).max(80),
    country: z.string().regex(/^[A-Z]{2}$/),
  }),
  imageUrl: z.string().min(1).max(2000).optional(),
});

// As a key object: a string would be tried as a public key first, for each token.
const secret = createSecretKey(Buffer.from(process.env.JWT_SECRET));
const authenticated = (audience) => (req, res, next) => {
  const [scheme, token] = (req.get("authorization") ?? "").split(" ");
  if (scheme !== "Bearer" || !token) return problem(res, 401, "unauthenticated");
  try {
    req.caller = jwt.verify(token, secret, { algorithms: ["HS256"], audience, clockTolerance: 30 }).sub;
  } catch {
    return problem(res, 401, "invalid_credentials");
  }
  next();
};

const problem = (res, status, type, errors) =>
  res.status(status).type("application/problem+json").send(JSON.stringify({ type, status, errors }));

const tasks = express.Router();
tasks.use(authenticated("todo"));

tasks.get("/api/v1/tasks/:task_id", async (req, res) => {
  const task_id = ULID.parse(req.params.task_id);
  const { data } = await todo.entities.task.get({ user_id: req.caller, task_id }).go();
  if (!data) return problem(res, 404, "not_found");
  res.set("ETag", `"${data.version}"`).json(data);
});

tasks.get("/api/v1/tasks", async (req, res) => {
  const { status, limit, cursor } = TaskList.parse(req.query);
  const { data, cursor: next } = await todo.entities.task.query
    .byStatus({ user_id: req.caller, status })
    .go({ order: "desc", limit, cursor, ignoreOwnership: true });
  res.json({ items: data, next });
});

tasks.post("/api/v1/tasks", async (req, res) => {
  const now = Math.floor(Date.now() / 1000);
  const task = {
    ...NewTask.parse(req.body),
    user_id: req.caller,
    task_id: ulid(),
    status: "pending",
    created_at: now,
    updated_at: now,
    version: 1,
  };
  const { canceled, data } = await todo.transaction
    .write(({ user, task: tasks }) => [
      tasks.create(task).commit(),
      user
        .check({ user_id: req.caller })
        .where(({ user_id, deleting }, { exists, notExists }) => `${exists(user_id)} AND ${notExists(deleting)}`)
        .commit(),
    ])
    .go();
  if (canceled) return refused(res, data, ["task_exists", "user_is_being_deleted"]);
  res.status(201).set("ETag", '"1"').json(task);
});

const items = express.Router();
items.use(authenticated("ecobid"));

// The neighbours of an item come in one query; collections of ElectroDB cannot have keys of one's own.
items.get("/items/:itemId", async (req, res) => {
  const itemId = ULID.parse(req.params.itemId);
  const { Items: rows } = await client.send(
    new QueryCommand({
      TableName: ECOBID_TABLE,
      KeyConditionExpression: "PK = :item",
      ExpressionAttributeValues: { ":item": `ITEM#${itemId}` },
      ScanIndexForward: false,
    }),
  );
  const { item, reservation, auction } = ecobid.entities;
  const of = (entity, name) => rows.filter((row) => row.entityType === name).map((row) => entity.parse({ Item: row }).data);
  const [found] = of(item, "Item");
  if (!found) return problem(res, 404, "not_found");
  const mine = ({ buyerId, sellerId }) => buyerId === req.caller || sellerId === req.caller;
  const reservations = of(reservation, "Reservation").filter(mine).slice(0, 20);
  res.json({ ...found, reservations, auctions: of(auction, "ItemAuction").slice(0, 1) });
});

items.get("/items", async (req, res) => {
  const { category, limit, cursor } = ItemList.parse(req.query);
  const { data, cursor: next } = await ecobid.entities.item.query
    .byCategory({ category })
    .go({ order: "desc", limit, cursor, ignoreOwnership: true });
  res.json({ items: data, next });
});

items.post("/items", async (req, res) => {
  const body = NewItem.parse(req.body);
  const now = new Date().toISOString();
  // To a hundredth of a degree for everybody; where exactly is a row of its own.
  const [lat, lon] = [body.location.lat, body.location.lon].map((exact) => Math.round(exact * 100) / 100);
  const given = {
    ...body,
    location: { ...body.location, lat, lon },
    userId: req.caller,
    itemId: ulid(),
    status: "available",
    geohash: geohash.encode(lat, lon, 5),
    geohash4: geohash.encode(lat, lon, 4),
    timestamp: now,
    updatedAt: now,
  };
  const { canceled, data } = await ecobid.transaction
    .write(({ user, item, userItem, place }) => [
      user
        .check({ userId: req.caller })
        .where(({ userId }, { exists }) => exists(userId))
        .commit(),
      item.create(given).commit(),
      userItem.create({ userId: req.caller, itemId: given.itemId, title: given.title, status: given.status }).commit(),
      place.create({ itemId: given.itemId, userId: req.caller, location: body.location }).commit(),
    ])
    .go();
  if (canceled) return refused(res, data, ["not_registered", "item_exists", "item_exists", "item_exists"]);
  res.status(201).json(given);
});

const refused = (res, actions, names) => {
  const at = actions.findIndex(({ rejected }) => rejected);
  return problem(res, 409, names[at] ?? "conflict");
};

const app = express();
app.disable("x-powered-by");
// Rows have versions for tags; a hash of each answer would be work for nothing.
app.disable("etag");
app.set("query parser", "simple");
app.use(express.json());
app.use("/todo", tasks);
app.use("/ecobid", items);
app.use((req, res) => problem(res, 404, "no_such_route"));
app.use((error, req, res, next) => {
  if (error instanceof z.ZodError) return problem(res, 400, "invalid_input", error.issues);
  if (error.type === "entity.parse.failed") return problem(res, 400, "invalid_json");
  console.error(error);
  problem(res, 503, "unavailable");
});

// Ends with its input, so that none is left behind.
const endWithInput = () => process.stdin.resume().on("end", () => process.exit(0));
const workers = Number(process.env.WORKERS ?? 1);
if (cluster.isPrimary && workers > 1) {
  let listening = 0;
  cluster.on("listening", (_, { port }) => {
    listening += 1;
    if (listening === workers) console.log(`127.0.0.1:${port}`);
  });
  for (let at = 0; at < workers; at += 1) cluster.fork();
  endWithInput();
} else {
  const server = app.listen(0, "127.0.0.1", () => {
    if (cluster.isPrimary) console.log(`127.0.0.1:${server.address().port}`);
  });
  if (cluster.isPrimary) endWithInput();
}
