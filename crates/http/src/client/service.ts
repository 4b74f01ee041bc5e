declare const brand: unique symbol;

/** An id that no other text passes for: from an answer, or by the function of its name. */
export type Id<Name extends string> = string & { readonly [brand]: Name };

/** What the service says of a request that it did not do (RFC 9457). */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance: string;
  readonly request_id: string;
  readonly errors?: ReadonlyArray<{ readonly detail: string; readonly pointer?: string; readonly in?: string; readonly parameter?: string }>;
  readonly combinations?: ReadonlyArray<string>;
}

/** It was done. */
export interface Done<Value> {
  readonly ok: true;
  readonly status: number;
  readonly value: Value;
  /** The version of the row, for `ifMatch`. */
  readonly etag: string | undefined;
  /** Whether this is the answer of an earlier request with the same key. */
  readonly replayed: boolean;
}

/** It was not done, by the name of the rule. */
export interface Refused<Refusal extends string> {
  readonly ok: false;
  readonly status: number;
  readonly refusal: Refusal;
  readonly problem: Problem;
}

export type Answer<Value, Refusal extends string> = Done<Value> | Refused<Refusal>;

/** Rows of a list, and where the next ones begin. */
export interface Page<Row> {
  readonly items: ReadonlyArray<Row>;
  readonly next: string | null;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface PageOptions extends CallOptions {
  /** Rows in a page. */
  readonly limit?: number | undefined;
}

export interface WriteOptions extends CallOptions {
  /** Tells a retry from a new request. One is made where none is given, and every attempt has the same. */
  readonly idempotencyKey?: string | undefined;
  /** The version that the row must have. */
  readonly ifMatch?: string | undefined;
}

export interface ClientOptions {
  /** Where the system is served, such as `https://api.example/NAME`. */
  readonly base: string;
  /** The token of whoever calls, or what gives one. */
  readonly token?: string | (() => string | Promise<string>) | undefined;
  /** The API key of whoever calls. */
  readonly apiKey?: string | undefined;
  /** How often a request is sent at most; 3 unless given. */
  readonly attempts?: number | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
}

export type NoArguments = Readonly<Record<string, never>>;

/** Something else than an answer of the operation came back, or nothing did. */
export class ServiceError extends Error {
  constructor(message: string, readonly status: number | undefined, readonly problem: Problem | undefined, readonly reason?: unknown) {
    super(message);
    this.name = "ServiceError";
  }
}

/** Pages were asked for, and one was refused. */
export class RefusedError<Refusal extends string> extends Error {
  constructor(readonly answer: Refused<Refusal>) {
    super(answer.problem.detail);
    this.name = "RefusedError";
  }
}

/** The rows of a list, from page to page to its end. A page that is refused throws a `RefusedError`. */
export class Listed<Row, Refusal extends string> implements AsyncIterable<Row> {
  constructor(private readonly ask: (cursor: string | undefined) => Promise<Answer<Page<Row>, Refusal>>) {}

  /** One page: the first, or that of a cursor. */
  page(cursor?: string): Promise<Answer<Page<Row>, Refusal>> {
    return this.ask(cursor);
  }

  async *pages(): AsyncGenerator<Page<Row>, void, undefined> {
    let cursor: string | null | undefined;
    do {
      const answer: Answer<Page<Row>, Refusal> = await this.ask(cursor ?? undefined);
      if (!answer.ok) throw new RefusedError(answer);
      yield answer.value;
      cursor = answer.value.next;
    } while (cursor !== null);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Row, void, undefined> {
    for await (const page of this.pages()) yield* page.items;
  }
}

/** An answer that comes in pages, each of its own shape. */
export class Paged<Part extends { readonly next: string | null }, Refusal extends string> implements AsyncIterable<Part> {
  constructor(private readonly ask: (cursor: string | undefined) => Promise<Answer<Part, Refusal>>) {}

  /** One page: the first, or that of a cursor. */
  page(cursor?: string): Promise<Answer<Part, Refusal>> {
    return this.ask(cursor);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Part, void, undefined> {
    let cursor: string | null | undefined;
    do {
      const answer: Answer<Part, Refusal> = await this.ask(cursor ?? undefined);
      if (!answer.ok) throw new RefusedError(answer);
      yield answer.value;
      cursor = answer.value.next;
    } while (cursor !== null);
  }
}

/** The longest pause between two attempts, in milliseconds. */
const PAUSE_MAX = 10_000;

type Sent = {
  readonly method: string;
  readonly path: string;
  readonly query?: ReadonlyArray<readonly [string, unknown]>;
  readonly body?: Readonly<Record<string, unknown>>;
  /** Whether the same request can be sent again without being done again. */
  readonly repeats: boolean;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal | undefined;
};

class Service {
  constructor(private readonly options: ClientOptions, private readonly apiKeyHeader: string) {}

  async ask<Value, Refusal extends string>(sent: Sent, refusals: ReadonlyArray<Refusal>): Promise<Answer<Value, Refusal>> {
    const { answer } = await this.response<Value, Refusal>(sent, refusals);
    return answer;
  }

  /** A list that is a bare array: where it goes on stands in a header. */
  async askBare<Row, Refusal extends string>(sent: Sent, refusals: ReadonlyArray<Refusal>): Promise<Answer<Page<Row>, Refusal>> {
    const { answer, response } = await this.response<ReadonlyArray<Row>, Refusal>(sent, refusals);
    if (!answer.ok) return answer;
    const link = /<([^>]*)>;\s*rel="next"/.exec(response.headers.get("link") ?? "");
    const next = link?.[1] === undefined ? null : new URL(link[1], this.options.base).searchParams.get("cursor");
    return { ...answer, value: { items: answer.value, next } };
  }

  write<Value, Refusal extends string>(sent: Sent, refusals: ReadonlyArray<Refusal>, options: WriteOptions, keyed: boolean): Promise<Answer<Value, Refusal>> {
    const key = keyed ? options.idempotencyKey ?? globalThis.crypto.randomUUID() : undefined;
    const headers = { "idempotency-key": key, "if-match": options.ifMatch };
    return this.ask({ ...sent, headers, repeats: keyed, signal: options.signal }, refusals);
  }

  private async response<Value, Refusal extends string>(sent: Sent, refusals: ReadonlyArray<Refusal>): Promise<{ answer: Answer<Value, Refusal>; response: Response }> {
    const response = await this.send(sent);
    const text = await response.text();
    if (response.ok) {
      const value = (text === "" ? undefined : JSON.parse(text)) as Value;
      const etag = response.headers.get("etag") ?? undefined;
      const replayed = response.headers.get("idempotent-replay") === "true";
      return { answer: { ok: true, status: response.status, value, etag, replayed }, response };
    }
    let problem: Problem | undefined;
    try {
      problem = JSON.parse(text) as Problem;
    } catch {
      throw new ServiceError(`the answer is ${response.status}`, response.status, undefined);
    }
    const name = String(problem.type).split(":").pop();
    const refusal = refusals.find((known) => known === name);
    if (refusal === undefined) throw new ServiceError(problem.detail, response.status, problem);
    return { answer: { ok: false, status: response.status, refusal, problem }, response };
  }

  private async send(sent: Sent): Promise<Response> {
    const attempts = Math.max(1, this.options.attempts ?? 3);
    for (let attempt = 1; ; attempt++) {
      const last = attempt >= attempts;
      let pause = 100 * 2 ** attempt;
      try {
        const response = await this.once(sent);
        const busy = response.status === 429 || response.status === 503;
        if (!busy || last || !sent.repeats) return response;
        const wished = Number(response.headers.get("retry-after"));
        if (wished > 0) pause = wished * 1000;
        await response.body?.cancel();
      } catch (reason) {
        // Nobody knows whether it was done: only what may be sent twice is.
        if (last || !sent.repeats || sent.signal?.aborted === true) {
          throw new ServiceError(`no answer from ${this.options.base}`, undefined, undefined, reason);
        }
      }
      await new Promise((resolve) => setTimeout(resolve, Math.min(pause, PAUSE_MAX)));
    }
  }

  private async once(sent: Sent): Promise<Response> {
    const headers: Record<string, string> = { accept: "application/json" };
    for (const [name, value] of Object.entries(sent.headers ?? {})) if (value !== undefined) headers[name] = value;
    const { token, apiKey } = this.options;
    if (token !== undefined) headers["authorization"] = `Bearer ${typeof token === "string" ? token : await token()}`;
    if (apiKey !== undefined) headers[this.apiKeyHeader] = apiKey;
    const init: RequestInit = { method: sent.method, headers };
    if (sent.body !== undefined) {
      headers["content-type"] = "application/json";
      init.body = JSON.stringify(sent.body);
    }
    if (sent.signal !== undefined) init.signal = sent.signal;
    const query = new URLSearchParams();
    for (const [name, value] of sent.query ?? []) if (value !== undefined) query.append(name, text(value));
    const asked = query.toString();
    const address = `${this.options.base.replace(/\/+$/, "")}${sent.path}${asked === "" ? "" : `?${asked}`}`;
    return (this.options.fetch ?? globalThis.fetch)(address, init);
  }
}

/** A value in a path or a query: lists and objects are JSON there. */
function text(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function segment(value: unknown): string {
  return encodeURIComponent(text(value));
}
