/** The connection to one service: its address, an application's key, and how often a request is repeated. */

import { Refused, Unreachable, refused } from "./refusals.js";

export const KEY_HEADER = "x-svc-webservice-client-id";

/** Requests in a row for one answer: enough for a service that restarts, few for a phone's battery. */
const ATTEMPTS = 3;

/** Milliseconds before the second attempt; twice that before the third. */
const FIRST_WAIT = 500;

/** Milliseconds. Where Retry-After asks for more, the caller decides whether to wait. */
const LONGEST_WAIT = 10_000;

/** Statuses after which the same request may succeed. */
export const TEMPORARY: ReadonlySet<number> = new Set([429, 502, 503, 504]);

export type Query = Readonly<Record<string, string | number>>;

export interface Sent {
  query?: Query;
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
}

export class Connection {
  constructor(
    private readonly baseUrl: string,
    private readonly key: string,
    private readonly timeout: number,
    private readonly fetch: typeof globalThis.fetch,
  ) {}

  /**
   * Sends a request, again where that is safe, and returns the answer: its status is 200 or 304.
   *
   * A GET is repeated, and so is any request that has an Idempotency-Key. Throws Refused or Unreachable.
   */
  async send(method: string, path: string, sent: Sent = {}): Promise<Response> {
    const mayRepeat = method === "GET" || "Idempotency-Key" in (sent.headers ?? {});
    const last = mayRepeat ? ATTEMPTS : 1;
    for (let attempt = 1, wait = FIRST_WAIT; ; attempt += 1, wait *= 2) {
      const outcome = await this.attempt(method, path, sent);
      if (outcome instanceof Response) return outcome;
      let pause = wait;
      if (outcome instanceof Refused) {
        pause = Math.max(wait, (outcome.retryAfter ?? 0) * 1000);
        if (!TEMPORARY.has(outcome.status) || pause > LONGEST_WAIT) throw outcome;
      }
      if (attempt === last) throw outcome;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  /** Sends a request once, and returns the answer or why there is none. */
  private async attempt(method: string, path: string, sent: Sent): Promise<Response | Refused | Unreachable> {
    const url = new URL(`${this.baseUrl.replace(/\/+$/, "")}/${path}`);
    for (const [name, value] of Object.entries(sent.query ?? {})) url.searchParams.set(name, String(value));
    const headers: Record<string, string> = { Accept: "application/json", [KEY_HEADER]: this.key, ...sent.headers };
    const request: RequestInit = { method, headers, signal: AbortSignal.timeout(this.timeout) };
    if (sent.body !== undefined) {
      headers["Content-Type"] = "application/json";
      request.body = JSON.stringify(sent.body);
    }
    try {
      const response = await this.fetch(url, request);
      return response.status === 200 || response.status === 304 ? response : await refused(response);
    } catch (error) {
      return new Unreachable(`${method} ${path}: ${String(error)}`);
    }
  }
}
