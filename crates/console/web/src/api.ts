// What the service is asked. Values come with their types, numbers as texts: no digit is lost.

export type Typed =
  | { S: string }
  | { N: string }
  | { B: string }
  | { BOOL: boolean }
  | { NULL: boolean }
  | { L: Typed[] }
  | { M: TypedMap }
  | { SS: string[] }
  | { NS: string[] }
  | { BS: string[] };
export type TypedMap = { [name: string]: Typed };

export interface SystemInfo {
  name: string;
  prefix: string;
  table: string;
  readOnly: boolean;
  entities: string[];
  stream: string | null;
}

export interface Session {
  readOnly: boolean;
  systems: SystemInfo[];
}

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
  ) {
    super(detail);
  }
}

async function ask(method: string, path: string, body?: unknown): Promise<any> {
  const init: RequestInit = { method, credentials: "same-origin", cache: "no-store" };
  if (body !== undefined) {
    init.headers = { "content-type": "application/json" };
    init.body = JSON.stringify(body);
  }
  let response: Response;
  try {
    response = await fetch(`/console/api/${path}`, init);
  } catch {
    throw new ApiError(0, "gone", "the service does not answer");
  }
  const text = await response.text();
  let json: any = null;
  try {
    json = text ? JSON.parse(text) : null;
  } catch {
    throw new ApiError(response.status, "unreadable", "the answer cannot be read");
  }
  if (!response.ok) {
    const error = json?.error ?? {};
    if (response.status === 401 && path !== "session") document.dispatchEvent(new CustomEvent("signed-out"));
    throw new ApiError(response.status, error.name ?? "error", error.detail ?? `the service answered ${response.status}`);
  }
  return json;
}

export const api = {
  session: (): Promise<Session> => ask("GET", "session"),
  signIn: (link: string): Promise<unknown> => ask("POST", "session", { link }),
  signOut: (): Promise<unknown> => ask("DELETE", "session"),
  newLink: (): Promise<unknown> => ask("POST", "link", {}),
  get: (system: string, view: string): Promise<any> => ask("GET", `${encodeURIComponent(system)}/${view}`),
  post: (system: string, view: string, body: unknown): Promise<any> =>
    ask("POST", `${encodeURIComponent(system)}/${view}`, body),
};

/** What went wrong, in a sentence. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
