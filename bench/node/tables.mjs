// The entities of todo and ecobid that the API needs, on the keys of the models, so that tables can be exchanged. What
// ElectroDB adds to a row is its own version attribute, and the rank that the key of GSI3 is made of.

import { Agent } from "node:http";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { Entity, Service } from "electrodb";
import { ulid } from "ulid";

const connection = new DynamoDBClient({
  endpoint: process.env.DYNAMODB_ENDPOINT,
  region: "us-east-1",
  credentials: { accessKeyId: "local", secretAccessKey: "local" },
  requestHandler: { httpAgent: new Agent({ keepAlive: true, maxSockets: 64 }) },
});
export const client = DynamoDBDocumentClient.from(connection, { marshallOptions: { removeUndefinedValues: true } });

export const TODO_TABLE = "todo-app-data";
export const ECOBID_TABLE = "ecobid";
export const STATUSES = ["pending", "in_progress", "completed", "cancelled"];
export const PRIORITIES = ["urgent", "high", "medium", "low"];
export const CATEGORIES = ["furniture", "electronics", "clothing", "books", "home", "kids", "sports", "other"];
export const MODES = ["free", "auction"];

const entity = (table, type, name, attributes, indexes) =>
  new Entity(
    { model: { entity: name, version: "1", service: table }, attributes, indexes },
    // The type attribute is the one of the models; their rows do not have ElectroDB's version.
    { client, table, identifiers: { entity: type, version: "__edb_v__" }, ignoreOwnership: true },
  );

const key = (field, template, composite) => ({ field, template, composite, casing: "none" });
const now = () => Math.floor(Date.now() / 1000);

const User = entity(
  TODO_TABLE,
  "entity_type",
  "User",
  {
    user_id: { type: "string", required: true },
    email: { type: "string", required: true },
    name: { type: "string", required: true },
    deleting: { type: "boolean" },
  },
  { primary: { pk: key("PK", "USER#${user_id}", ["user_id"]), sk: key("SK", "METADATA", []) } },
);

const Task = entity(
  TODO_TABLE,
  "entity_type",
  "Task",
  {
    user_id: { type: "string", required: true },
    task_id: { type: "string", required: true, default: () => ulid() },
    title: { type: "string", required: true },
    description: { type: "string" },
    status: { type: STATUSES, required: true, default: "pending" },
    priority: { type: PRIORITIES },
    priority_rank: {
      type: "string",
      hidden: true,
      watch: ["priority"],
      set: (_, { priority }) => (priority === undefined ? undefined : String(PRIORITIES.indexOf(priority))),
    },
    category: { type: "string" },
    due_date: { type: "string" },
    created_at: { type: "number", required: true, default: now },
    updated_at: { type: "number", required: true, default: now },
    completed_at: { type: "number" },
    version: { type: "number", required: true, default: 1 },
  },
  {
    primary: {
      pk: key("PK", "TASK#${user_id}", ["user_id"]),
      sk: key("SK", "TASK#${task_id}", ["task_id"]),
    },
    byStatus: {
      index: "GSI1",
      pk: key("GSI1PK", "USER#${user_id}", ["user_id"]),
      sk: key("GSI1SK", "STATUS#${status}#${task_id}", ["status", "task_id"]),
    },
    byDueDate: {
      index: "GSI2",
      condition: (task) => task.due_date !== undefined,
      pk: key("GSI2PK", "USER#${user_id}", ["user_id"]),
      sk: key("GSI2SK", "DUEDATE#${due_date}#${task_id}", ["due_date", "task_id"]),
    },
    byPriority: {
      index: "GSI3",
      condition: (task) => task.priority_rank !== undefined,
      pk: key("GSI3PK", "USER#${user_id}", ["user_id"]),
      sk: key("GSI3SK", "PRIORITY#${priority_rank}#${task_id}", ["priority_rank", "task_id"]),
    },
    byCategory: {
      index: "GSI4",
      condition: (task) => task.category !== undefined,
      pk: key("GSI4PK", "USER#${user_id}", ["user_id"]),
      sk: key("GSI4SK", "CATEGORY#${category}#${task_id}", ["category", "task_id"]),
    },
  },
);

const Profile = entity(
  ECOBID_TABLE,
  "entityType",
  "User",
  { userId: { type: "string", required: true }, username: { type: "string", required: true } },
  { primary: { pk: key("PK", "USER#${userId}", ["userId"]), sk: key("SK", "PROFILE", []) } },
);

// Attributes are keys of these indexes as they are.
const own = (index, attribute) => ({
  index,
  pk: { field: attribute, composite: [attribute], casing: "none" },
  sk: { field: "timestamp", composite: ["timestamp"], casing: "none" },
});
const instant = { type: "string", required: true, default: () => new Date().toISOString() };

const location = {
  type: "map",
  required: true,
  properties: {
    lat: { type: "number", required: true },
    lon: { type: "number", required: true },
    city: { type: "string", required: true },
    country: { type: "string", required: true },
  },
};

const Item = entity(
  ECOBID_TABLE,
  "entityType",
  "Item",
  {
    itemId: { type: "string", required: true, default: () => ulid() },
    userId: { type: "string", required: true },
    title: { type: "string", required: true },
    description: { type: "string", required: true },
    category: { type: CATEGORIES, required: true },
    mode: { type: MODES, required: true },
    status: { type: "string", required: true, default: "available" },
    location,
    geohash: { type: "string", required: true },
    geohash4: { type: "string", required: true },
    imageUrl: { type: "string" },
    timestamp: instant,
    updatedAt: instant,
    reservedUntil: { type: "string" },
    reservationId: { type: "string" },
    auctionId: { type: "string" },
    completedAt: { type: "string" },
  },
  {
    primary: { pk: key("PK", "ITEM#${itemId}", ["itemId"]), sk: key("SK", "METADATA", []) },
    byCell: own("GSI1", "geohash"),
    byCategory: own("GSI2", "category"),
    byStatus: {
      index: "GSI4",
      pk: key("GSI4PK", "STATUS#${status}", ["status"]),
      sk: key("GSI4SK", "${timestamp}#${itemId}", ["timestamp", "itemId"]),
    },
    byWideCell: own("GSI5", "geohash4"),
  },
);

const UserItem = entity(
  ECOBID_TABLE,
  "entityType",
  "UserItem",
  {
    userId: { type: "string", required: true },
    itemId: { type: "string", required: true },
    title: { type: "string", required: true },
    status: { type: "string", required: true },
    reservedUntil: { type: "string" },
  },
  { primary: { pk: key("PK", "USER#${userId}", ["userId"]), sk: key("SK", "ITEM#${itemId}", ["itemId"]) } },
);

const Place = entity(
  ECOBID_TABLE,
  "entityType",
  "Place",
  {
    itemId: { type: "string", required: true },
    userId: { type: "string", required: true },
    buyerId: { type: "string" },
    location,
  },
  { primary: { pk: key("PK", "ITEM#${itemId}", ["itemId"]), sk: key("SK", "PLACE", []) } },
);

const Reservation = entity(
  ECOBID_TABLE,
  "entityType",
  "Reservation",
  {
    itemId: { type: "string", required: true },
    resId: { type: "string", required: true, default: () => ulid() },
    buyerId: { type: "string", required: true },
    sellerId: { type: "string", required: true },
    status: { type: "string", required: true, default: "pending" },
    message: { type: "string" },
    pickupTime: { type: "string" },
    createdAt: instant,
    expiresAt: { type: "string", required: true },
    endedAt: { type: "string" },
  },
  {
    primary: { pk: key("PK", "ITEM#${itemId}", ["itemId"]), sk: key("SK", "RESERVATION#${resId}", ["resId"]) },
    byBuyer: {
      index: "GSI3",
      pk: key("GSI3PK", "USER#${buyerId}", ["buyerId"]),
      sk: key("GSI3SK", "RES#${status}#${createdAt}", ["status", "createdAt"]),
    },
  },
);

const Auction = entity(
  ECOBID_TABLE,
  "entityType",
  "ItemAuction",
  {
    itemId: { type: "string", required: true },
    auctionId: { type: "string", required: true },
    sellerId: { type: "string", required: true },
    minBid: { type: "number", required: true },
    currentBid: { type: "number" },
    nextMin: { type: "number" },
    bidCount: { type: "number", required: true },
    leaderId: { type: "string" },
    winnerId: { type: "string" },
    status: { type: "string", required: true },
    endsAt: { type: "string", required: true },
  },
  { primary: { pk: key("PK", "ITEM#${itemId}", ["itemId"]), sk: key("SK", "AUCTION#${auctionId}", ["auctionId"]) } },
);

export const todo = new Service({ user: User, task: Task }, { client, table: TODO_TABLE });
export const ecobid = new Service(
  { user: Profile, item: Item, userItem: UserItem, place: Place, reservation: Reservation, auction: Auction },
  { client, table: ECOBID_TABLE },
);
