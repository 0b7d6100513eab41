/**
 * A small core for apps that call a shopwindow service: copies of reads, writes that are done once, the mobile log.
 *
 * It knows no operation: its types are the `paths` that openapi-typescript makes of the service's OpenAPI document. It
 * runs in browsers, React Native and Node. React Native lacks AbortSignal.timeout, URLSearchParams.set and
 * crypto.randomUUID, and its stores answer by promises.
 */

const KEY_HEADER = "x-svc-webservice-client-id";
/** Milliseconds of one attempt: longer, and somebody looks at an empty screen. */
const TIMEOUT = 3_000;
/** Requests in a row for one write: enough for a service that restarts, few for a phone's battery. */
const ATTEMPTS = 3;
/** Milliseconds. Where Retry-After asks for more, the caller decides whether to wait. */
const LONGEST_WAIT = 10_000;
/** Statuses after which the same write may succeed. */
const TEMPORARY: readonly number[] = [429, 502, 503, 504];
/** Statuses by which the service says that it is not there for this request. */
const AWAY: readonly number[] = [...TEMPORARY, 500];
/** Milliseconds. An older copy is worse than an error: offers have ended, and stores have moved. */
const OLDEST_COPY = 7 * 24 * 3_600_000;
/** Log entries in a request. An application's loggingInfo may admit fewer (maxLogCount). */
const BATCH = 20;
/** Log entries that wait for the service; beyond it the oldest are dropped. */
const WAITING = 1_000;
/** Characters of a log message that the service takes. */
const LONGEST_MESSAGE = 4_000;

type Json = Record<string, unknown>;
type Parameters = Readonly<Record<string, string | number | readonly (string | number)[] | undefined>>;

/** The JSON that an operation of generated `paths` answers with. */
export type AnswerOf<Operation> = Operation extends {
  responses: { 200: { content: { "application/json": infer Value } } };
}
  ? Value
  : unknown;
type BodyOf<Operation> = Operation extends { requestBody?: { content: { "application/json": infer Value } } }
  ? Value
  : never;
type MethodOf<Item> = { [M in keyof Item]: Item[M] extends { responses: unknown } ? M : never }[keyof Item];

/** Where copies lie: localStorage has this form, React Native's AsyncStorage too. */
export interface Copies {
  getItem(name: string): string | null | Promise<string | null>;
  setItem(name: string, text: string): unknown;
}

export interface Answer<Value> {
  readonly value: Value;
  /** Of this state; empty: it has none. */
  readonly etag: string;
  /** Nobody answered, and this was the last answer. */
  readonly isCopy: boolean;
}

interface Copy {
  readonly etag: string;
  readonly at: number;
  readonly until: number;
  readonly value: Json;
}

/** There is no answer of the service, and no copy that may stand for it. */
export class Unreachable extends Error {}

/** The service refused a request. The message of a 401 names the header of the key. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: number,
    message: string,
    /** What to name when asking the service's operators. */
    readonly requestId: string,
    /** Seconds to wait; undefined: repeating the request does not help. */
    readonly retryAfter: number | undefined,
  ) {
    super(message);
  }
}

interface Received {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export class Client<Paths extends object> {
  /** Log entries that were lost: too many waited, or the service does not want them. */
  dropped = 0;
  private waiting: Json[] = [];
  private batch: { readonly key: string; readonly entries: readonly Json[] } | undefined;
  private flushing: Promise<number> | undefined;

  /** `baseUrl`: the address of the interface; `key`: the application's API key. */
  constructor(
    private readonly baseUrl: string,
    private readonly key: string,
    private readonly copies: Copies,
    private readonly send: typeof fetch = (input, init) => fetch(input, init),
    private readonly clock: () => number = Date.now,
  ) {}

  /**
   * Returns the answer to a public read, such as /store/v2/stores.
   *
   * A copy needs no request for as long as the service's max-age allows. After that there is one attempt. Where it
   * brings nothing of the promised form, such as a login page, the copy stands for the answer. `form` says whether a
   * JSON object has that form. Of an answer that is not public (no-store), such as a bag, there is no copy. Throws
   * Refused; Unreachable where there is no copy of the last seven days.
   */
  async read<Path extends keyof Paths & string>(
    path: Path,
    parameters: { path?: Parameters; query?: Parameters } = {},
    form: (value: Json) => boolean = () => true,
  ): Promise<Answer<AnswerOf<Paths[Path] extends { get: infer Get } ? Get : never>>> {
    type Value = AnswerOf<Paths[Path] extends { get: infer Get } ? Get : never>;
    const url = this.url(path, parameters);
    const name = `shopwindow ${url} ${this.key}`;
    const copy = await loaded(this.copies, name, form);
    const now = this.clock();
    if (copy && copy.at <= now && now < copy.until) return { value: copy.value as Value, etag: copy.etag, isCopy: false };
    try {
      const received = await this.sent("GET", url, undefined, copy?.etag ? { "If-None-Match": copy.etag } : {});
      const value = copy && received.status === 304 ? copy.value : objectOf(received);
      if (!form(value)) throw new Unreachable("the answer has another form");
      const etag = received.headers.get("ETag") ?? "";
      await stored(this.copies, name, { etag, at: now, until: now + fresh(received.headers), value }, received.headers);
      return { value: value as Value, etag, isCopy: false };
    } catch (error) {
      if (error instanceof Refused && !AWAY.includes(error.status)) throw error;
      if (copy && Math.abs(now - copy.at) <= OLDEST_COPY) return { value: copy.value as Value, etag: copy.etag, isCopy: true };
      const age = copy ? "the copy is older than seven days" : "there is no copy";
      throw new Unreachable(`${path}: ${String(error)}; ${age}`);
    }
  }

  /**
   * Sends a write, and returns its answer.
   *
   * A POST has an Idempotency-Key: it is sent again where its answer is lost or the service asks to wait, and is done
   * once. Another method is sent once. `ifMatch`: the ETag of what it changes; `key`: the key of a POST that an earlier
   * call sent in vain. Throws Refused; Unreachable where it may or may not have been done.
   */
  async write<Path extends keyof Paths & string, Method extends MethodOf<Paths[Path]> & string>(
    method: Method,
    path: Path,
    body: BodyOf<Paths[Path][Method]>,
    options: { path?: Parameters; query?: Parameters; ifMatch?: string; key?: string } = {},
  ): Promise<Answer<AnswerOf<Paths[Path][Method]>>> {
    const headers: Record<string, string> = options.ifMatch ? { "If-Match": options.ifMatch } : {};
    if (method === "post") headers["Idempotency-Key"] = options.key ?? newKey();
    const received = await this.repeated(method.toUpperCase(), this.url(path, options), body, headers);
    const value = objectOf(received) as AnswerOf<Paths[Path][Method]>;
    return { value, etag: received.headers.get("ETag") ?? "", isCopy: false };
  }

  /** Adds an entry to the mobile log. It is sent by `flush`. */
  log(logLevel: string, message: string, phone: { deviceId: string; platform: string }): void {
    this.waiting.push({ ...phone, logLevel, logMessage: message.slice(0, LONGEST_MESSAGE) || " " });
    this.dropped += this.waiting.splice(0, this.waiting.length - WAITING).length;
  }

  /**
   * Sends the log in batches, and returns how many entries the service has stored. A second call joins the first.
   *
   * A batch whose answer is lost is sent again under its key, so no entry is stored twice. Throws Refused and
   * Unreachable; the entries then wait for the next call, unless they would be refused again.
   */
  flush(): Promise<number> {
    this.flushing ??= this.sendAll().finally(() => (this.flushing = undefined));
    return this.flushing;
  }

  private async sendAll(): Promise<number> {
    let stored = 0;
    while (this.batch || this.waiting.length > 0) {
      this.batch ??= { key: newKey(), entries: this.waiting.splice(0, BATCH) };
      const { key, entries } = this.batch;
      let isStored = false;
      try {
        const headers = { "Idempotency-Key": key };
        const received = await this.repeated("POST", this.url("/v2/utility/mobilelog"), { entry: entries }, headers);
        const success = (objectOf(received) as { logPostResponse?: { success?: boolean } }).logPostResponse?.success;
        if (typeof success !== "boolean") throw new Unreachable("the answer has another form");
        isStored = success;
      } catch (error) {
        if (!(error instanceof Refused) || TEMPORARY.includes(error.status)) throw error;
        this.batch = undefined;
        this.dropped += entries.length;
        throw error;
      }
      this.batch = undefined;
      if (isStored) stored += entries.length;
      else this.dropped += entries.length;
    }
    return stored;
  }

  private url(path: string, { path: inPath = {}, query = {} }: { path?: Parameters; query?: Parameters } = {}): string {
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(inPath[name])));
    const pairs = Object.entries(query).filter(([, value]) => value !== undefined);
    const texts = pairs.map(([name, value]) => `${encodeURIComponent(name)}=${inQuery(String(value))}`);
    return this.baseUrl.replace(/\/+$/, "") + filled + (texts.length > 0 ? `?${texts.join("&")}` : "");
  }

  /** Sends a write, again where it has a key. */
  private async repeated(method: string, url: string, body: unknown, headers: Record<string, string>): Promise<Received> {
    const attempts = "Idempotency-Key" in headers ? ATTEMPTS : 1;
    for (let attempt = 1; ; attempt += 1) {
      let wait = 250 * 2 ** attempt;
      try {
        const received = await this.sent(method, url, body, headers);
        objectOf(received);
        return received;
      } catch (error) {
        if (error instanceof Refused) {
          wait = Math.max(wait, (error.retryAfter ?? 0) * 1_000);
          if (!TEMPORARY.includes(error.status) || wait > LONGEST_WAIT) throw error;
        }
        if (attempt === attempts) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  /** Sends a request once; the answer has 200 or 304. Throws Refused, and Unreachable for what nobody promised. */
  private async sent(method: string, url: string, body: unknown, own: Record<string, string>): Promise<Received> {
    const headers: Record<string, string> = { Accept: "application/json", [KEY_HEADER]: this.key, ...own };
    const aborting = new AbortController();
    const request: RequestInit = { method, headers, signal: aborting.signal, redirect: "error" };
    if (body !== undefined) {
      headers["Content-Type"] = "application/json";
      request.body = JSON.stringify(body);
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(new Error(`no whole answer in ${TIMEOUT / 1_000} s`));
        aborting.abort();
      }, TIMEOUT);
    });
    try {
      const answer = await Promise.race([this.send(url, request), late]);
      const text = await Promise.race([answer.text(), late]);
      const received = { status: answer.status, headers: answer.headers, text };
      if (answer.status !== 200 && answer.status !== 304) throw refusal(received);
      return received;
    } catch (error) {
      throw error instanceof Refused || error instanceof Unreachable ? error : new Unreachable(String(error));
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Returns a value of a query. Commas are not encoded: files of a release have these addresses. */
function inQuery(text: string): string {
  return encodeURIComponent(text).replace(/%2C/g, ",");
}

/** Returns the JSON object that was received. Throws Unreachable. */
function objectOf({ headers, text }: Received): Json {
  const isJson = (headers.get("Content-Type") ?? "").startsWith("application/json");
  const value = isJson ? parsed(text) : undefined;
  if (value === undefined) throw new Unreachable("the answer is no JSON object");
  return value;
}

function parsed(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns what an answer with an error says, if it is the service's: a login page may have any status. */
function refusal({ status, headers, text }: Received): Error {
  const said = parsed(text) as { errorCode?: number; message?: string; errorMessage?: string; errorDetail?: string[] };
  const message = said?.errorDetail?.join("; ") ?? said?.errorMessage ?? said?.message;
  if (said?.errorCode === undefined || !message) return new Unreachable(`status ${status}, not of the service`);
  const wait = /^[0-9]{1,9}$/.exec(headers.get("Retry-After") ?? "")?.[0];
  const requestId = headers.get("X-Request-Id") ?? "";
  return new Refused(status, said.errorCode, message, requestId, wait ? Number(wait) : undefined);
}

/** Returns for how many milliseconds an answer needs no request: its max-age, less the time that it lay in a CDN. */
function fresh(headers: Headers): number {
  const seconds = /max-age=([0-9]{1,9})/.exec(headers.get("Cache-Control") ?? "")?.[1] ?? 0;
  return (Number(seconds) - (Number(headers.get("Age")) || 0)) * 1_000;
}

/** Returns a copy; undefined where there is none, it is damaged or of an earlier form, or the store fails. */
async function loaded(copies: Copies, name: string, form: (value: Json) => boolean): Promise<Copy | undefined> {
  try {
    const copy = parsed((await copies.getItem(name)) ?? "") as Partial<Copy> | undefined;
    const isCopy = typeof copy?.at === "number" && typeof copy.until === "number" && typeof copy.etag === "string";
    return isCopy && copy.value && form(copy.value) ? (copy as Copy) : undefined;
  } catch {
    return undefined;
  }
}

/** Stores a copy of a public answer. A store that is full makes no answer an error. */
async function stored(copies: Copies, name: string, copy: Copy, headers: Headers): Promise<void> {
  if (/no-store/.test(headers.get("Cache-Control") ?? "")) return;
  try {
    await copies.setItem(name, JSON.stringify(copy));
  } catch {
    // the next read asks again
  }
}

/** Returns a key that no other write has; it need not be secret. */
function newKey(): string {
  const part = () => Math.random().toString(36).slice(2, 12);
  return `${Date.now().toString(36)}-${part()}-${part()}`;
}
