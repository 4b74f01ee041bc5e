// Writes a call of every operation of the five systems, with arguments from their sample rows and the examples of their documents, as
// TypeScript. From the repository: node calls.mjs BASE
import { readFileSync } from "node:fs";

const base = process.argv[2];
const systems = ["todo", "wardrobe", "country", "booking", "ecobid"];
const callers = { todo: "ada", wardrobe: "tomas", booking: "elena", ecobid: "kasia" };

/** What a row of the caller's has under a name, or any row where the caller has none. */
function sampled(system, name, schema) {
  const lines = readFileSync(`systems/${system}/sample.jsonl`, "utf8").split("\n").filter((line) => line.trim() !== "");
  const rows = lines.map((line) => Object.values(JSON.parse(line))[0]);
  const own = rows.filter((row) => Object.values(row).includes(callers[system]));
  const of = (row) => Object.entries(row).find(([known]) => known.toLowerCase().startsWith(name.toLowerCase()))?.[1];
  const isId = schema["x-singlet-id"] !== undefined || /^(userId|alpha2|alpha3|numeric)$/.test(name);
  if (name === "userId" && system !== "ecobid") return callers[system];
  return isId ? [...own, ...rows].map(of).find((value) => typeof value === "string") : undefined;
}

const named = (document, schema) => (schema.$ref ? document.components.schemas[schema.$ref.split("/").pop()] : schema);

/** A value that fits a schema, where the document has no example. */
function made(document, schema) {
  schema = named(document, schema);
  if (schema.enum) return schema.enum[0];
  if (schema.anyOf) return made(document, schema.anyOf[0]);
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case "integer": case "number": return schema.minimum ?? 1;
    case "boolean": return true;
    case "array": return Array.from({ length: schema.minItems ?? 1 }, () => made(document, schema.items));
    case "object": {
      const needed = Object.entries(schema.properties ?? {}).filter(([name]) => (schema.required ?? []).includes(name));
      return Object.fromEntries(needed.map(([name, of]) => [name, made(document, of)]));
    }
    case "string": {
      if (schema.format === "date") return "2030-01-02";
      if (schema.format === "date-time") return "2030-01-02T10:00:00.000Z";
      if (schema.format === "uuid") return "00000000-0000-4000-8000-000000000001";
      if (schema.description?.startsWith("Latitude")) return "52.2297,21.0122";
      if (schema.pattern?.startsWith("^[0-7]")) return "01JQ0000000000000000000001";
      if (schema.pattern?.startsWith("^[0-9]{4}-")) return "2030-01";
      if (schema.pattern?.includes("A-Z]{2}")) return "NO";
      if (schema.pattern?.includes("A-Z]{3}")) return "NOR";
      if (schema.pattern?.includes("0-9]{3}")) return "578";
      if (schema.pattern?.includes("@")) return "somebody@example.com";
      return "abc".padEnd(schema.minLength ?? 0, "x");
    }
    default: return {};
  }
}

/** A value as TypeScript: ids by the function of their name. */
function written(document, system, schema, value) {
  const of = named(document, schema);
  const id = schema["x-singlet-id"] ?? of["x-singlet-id"];
  if (id !== undefined) return `${system}.${id}(${JSON.stringify(value)})`;
  if (of.anyOf) {
    const fitting = of.anyOf.find((one) => named(document, one).type !== "null") ?? of.anyOf[0];
    return value === null ? "null" : written(document, system, fitting, value);
  }
  if (of.type === "array") return `[${value.map((element) => written(document, system, of.items, element)).join(", ")}]`;
  if (of.type === "object" && of.properties) {
    const members = Object.entries(value).filter(([name]) => of.properties[name] !== undefined);
    return `{ ${members.map(([name, member]) => `${JSON.stringify(name)}: ${written(document, system, of.properties[name], member)}`).join(", ")} }`;
  }
  return JSON.stringify(value);
}

console.log(systems.map((system) => `import * as ${system} from "./${system}";`).join("\n"));
console.log(`
type Clients = { ${systems.map((system) => `readonly ${system}: ${system}.${system[0].toUpperCase()}${system.slice(1)}Client`).join("; ")} };
type Called = { readonly ok: boolean; readonly status: number };

/** Every operation, once. */
export const calls: ReadonlyArray<readonly [string, (clients: Clients) => Promise<Called>]> = [`);
/** Reads before writes, and what deletes at the end. */
const order = ["get", "put", "patch", "post", "delete"];
for (const system of systems) {
  const calls = [];
  const document = await (await fetch(`${base}/${system}/openapi.json`)).json();
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const own = path.startsWith("/reads/");
      if (method === "get" && !own) continue;
      const name = own ? path.split("/").pop() : operation.operationId;
      const parameters = (operation.parameters ?? []).map((one) => (one.$ref ? document.components.parameters[one.$ref.split("/").pop()] : one));
      const args = parameters
        .filter((one) => ["path", "query"].includes(one.in) && !["limit", "cursor", "ticket"].includes(one.name) && one.required)
        .map((one) => `${JSON.stringify(one.name)}: ${written(document, system, one.schema, sampled(system, one.name, one.schema) ?? one.example ?? made(document, one.schema))}`);
      const media = operation.requestBody?.content?.["application/json"];
      if (media !== undefined) {
        const schema = named(document, media.schema);
        for (const [member, of] of Object.entries(schema.properties)) {
          const example = media.example?.[member];
          if (example === undefined && !(schema.required ?? []).includes(member)) continue;
          args.push(`${JSON.stringify(member)}: ${written(document, system, of, example ?? made(document, of))}`);
        }
      }
      const pages = parameters.some((one) => one.name === "cursor");
      const version = parameters.some((one) => one.name === "If-Match" && one.required);
      const options = version ? ', { ifMatch: "*" }' : "";
      calls.push([order.indexOf(method), `  ["${system}.${name}", (clients) => clients.${system}.${name}({ ${args.join(", ")} }${options})${pages ? ".page()" : ""}],`]);
    }
  }
  calls.sort(([one], [other]) => one - other);
  for (const [, call] of calls) console.log(call);
}
console.log("];");
