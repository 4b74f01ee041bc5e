// Calls the five systems with their clients: every operation, pages to their end, refusals by name, a retry with the same key.
import * as booking from "./booking";
import { calls } from "./calls";
import * as country from "./country";
import * as ecobid from "./ecobid";
import * as todo from "./todo";
import * as wardrobe from "./wardrobe";

declare const process: { readonly env: Readonly<Record<string, string | undefined>>; exit(code: number): never };

const given = (name: string): string => process.env[name] ?? "";
const at = (system: string): string => `${given("BASE")}/${system}`;

function sure(condition: boolean, what: string): asserts condition {
  if (!condition) {
    console.error(`not so: ${what}`);
    process.exit(1);
  }
}

const clients = {
  todo: new todo.TodoClient({ base: at("todo"), token: given("TODO") }),
  wardrobe: new wardrobe.WardrobeClient({ base: at("wardrobe"), token: async () => given("WARDROBE") }),
  country: new country.CountryClient({ base: at("country"), apiKey: given("COUNTRY") }),
  booking: new booking.BookingClient({ base: at("booking"), token: given("BOOKING") }),
  ecobid: new ecobid.EcobidClient({ base: at("ecobid"), token: given("ECOBID") }),
};

// Pages to their end: as many rows one by one as all at once, and none twice.
const byOne: todo.TaskId[] = [];
for await (const task of clients.todo.tasks({}, { limit: 1 })) byOne.push(task.task_id);
const whole: todo.TaskId[] = [];
let pages = 0;
for await (const page of clients.todo.tasks({}, { limit: 100 }).pages()) {
  pages += 1;
  whole.push(...page.items.map((task) => task.task_id));
}
sure(byOne.length > 3 && new Set(byOne).size === byOne.length, "rows come once each");
sure(JSON.stringify([...byOne].sort()) === JSON.stringify([...whole].sort()), "pages of one have the rows of pages of many");
const member = new booking.BookingClient({ base: at("booking"), token: given("MEMBER") });
let parts = 0;
for await (const part of member.myBookings({}, { limit: 1 })) parts += part.bookings.length;
sure(parts > 1, "an answer with pages of another shape goes on too");
console.log(`ok: ${byOne.length} rows in pages of one, ${pages} page of many; ${parts} rows in pages of another shape`);

// A refusal has a name that the type knows.
const missing = await clients.todo.completeTask({ task_id: todo.TaskId("01JQ0000000000000000000009") });
sure(!missing.ok && missing.refusal === "task_not_found" && missing.status === 404, "a task that is not there is not found");
const made = await clients.todo.createTask({ title: "Written by a client" });
sure(made.ok && made.status === 201, "a task is created");
const done = await clients.todo.completeTask({ task_id: made.value.task_id });
sure(done.ok && done.value.status === "completed", "it is completed");
const again = await clients.todo.completeTask({ task_id: made.value.task_id });
function told(refusal: todo.CompleteTaskRefusal): string {
  switch (refusal) {
    case "task_not_pending_or_in_progress": return "it was completed";
    case "task_not_found": return "it is gone";
    default: return refusal;
  }
}
sure(!again.ok && told(again.refusal) === "it was completed", "a second time it is refused by name");
const nobody = new todo.TodoClient({ base: at("todo"), attempts: 1 });
const asked = await nobody.tasks().page();
sure(!asked.ok && asked.refusal === "unauthenticated", "who shows no token is told so");
let thrown: unknown;
try {
  for await (const _ of nobody.tasks()) sure(false, "nobody sees rows");
} catch (error) {
  thrown = error;
}
sure(thrown instanceof todo.RefusedError && thrown.answer.refusal === "unauthenticated", "iterating throws what was refused");
console.log("ok: refusals by name");

// The answer is lost on its way: the next attempt has the same key, and the write is done once.
const keys: (string | null)[] = [];
const lossy: typeof fetch = async (address, init) => {
  keys.push(new Headers(init?.headers).get("idempotency-key"));
  const response = await fetch(address, init);
  if (keys.length > 1) return response;
  await response.text();
  throw new TypeError("the connection broke off");
};
const unlucky = new todo.TodoClient({ base: at("todo"), token: given("TODO"), fetch: lossy });
const title = "Created once";
const once = await unlucky.createTask({ title });
sure(once.ok && once.replayed && keys.length === 2 && keys[0] === keys[1] && keys[0] !== null, "the retry has the same key");
let found = 0;
for await (const task of clients.todo.tasks()) if (task.title === title) found += 1;
sure(found === 1, "it was done once");
const named = await clients.todo.createTask({ title }, { idempotencyKey: "a key of one's own" });
const same = await clients.todo.createTask({ title }, { idempotencyKey: "a key of one's own" });
sure(named.ok && same.ok && same.replayed && same.value.task_id === named.value.task_id, "the same key is the same request");
const other = await clients.todo.createTask({ title: "another" }, { idempotencyKey: "a key of one's own" });
sure(!other.ok && other.refusal === "idempotency_key_reused", "and no other one");
let reached = 0;
const dead: typeof fetch = () => {
  reached += 1;
  return Promise.reject(new TypeError("nobody there"));
};
const alone = new todo.TodoClient({ base: at("todo"), token: "x", fetch: dead, attempts: 2 });
const failed = await alone.me().catch((error: unknown) => error);
sure(failed instanceof todo.ServiceError && failed.status === undefined && reached === 2, "who never answers is asked so often");
console.log("ok: a retry has the same key");

// Every operation answers with what its type says: it is done, or refused by a name that is known.
let answered = 0;
const refused: string[] = [];
for (const [name, call] of calls) {
  try {
    const answer = await call(clients);
    if (answer.ok) answered += 1;
    else refused.push(`${name} ${answer.status}`);
  } catch (error) {
    console.error(name, error);
    process.exit(1);
  }
}
sure(answered > refused.length, `more are done than refused: ${refused.join(", ")}`);
console.log(`ok: ${calls.length} operations called, ${answered} done and ${refused.length} refused by name`);
