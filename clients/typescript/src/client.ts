/** A service, as one application sees it: any read, the configuration, bags, the log. */

import { Bags } from "./bags.js";
import { Configuration, load, memory, store, type Copies } from "./configuration.js";
import { Connection, TEMPORARY, type Query } from "./connection.js";
import { Logger, type Phone } from "./log.js";
import { Refused, Unreachable } from "./refusals.js";

export interface ClientOptions {
  /** Where copies of the configuration are stored, such as localStorage; by default in memory. */
  copies?: Copies;
  /** Milliseconds for one attempt; by default 10,000. */
  timeout?: number;
  /** How requests are sent; by default the platform's fetch. */
  fetch?: typeof globalThis.fetch;
}

export class Client {
  readonly bags: Bags;
  private readonly connection: Connection;
  private readonly copies: Copies;
  private readonly copyName: string;

  /** `baseUrl`: the address of the interface; `key`: the application's API key. */
  constructor(baseUrl: string, key: string, options: ClientOptions = {}) {
    const send = options.fetch ?? globalThis.fetch.bind(globalThis);
    this.connection = new Connection(baseUrl, key, options.timeout ?? 10_000, send);
    this.copies = options.copies ?? memory();
    this.copyName = `shopwindow configuration ${baseUrl}`;
    this.bags = new Bags(this.connection);
  }

  /**
   * Returns the answer to a read as a JSON value, for a path such as store/v2/stores.
   *
   * Throws Refused or Unreachable.
   */
  async read<Answer = unknown>(path: string, query: Query = {}): Promise<Answer> {
    const response = await this.connection.send("GET", path, { query });
    return (await response.json()) as Answer;
  }

  /**
   * Returns the application's configuration (v2/utility/mobileapp).
   *
   * It is asked for with the ETag of the copy, so an unchanged one costs a few bytes. Where the service is away, the
   * copy is returned, and says so. Throws Refused; Unreachable where there is no copy either.
   */
  async configuration(): Promise<Configuration> {
    const copy = load(this.copies, this.copyName);
    const headers: Record<string, string> = copy?.etag ? { "If-None-Match": copy.etag } : {};
    let response: Response;
    try {
      response = await this.connection.send("GET", "v2/utility/mobileapp", { headers });
    } catch (error) {
      const isAway = error instanceof Unreachable || (error instanceof Refused && TEMPORARY.has(error.status));
      if (copy === undefined || !isAway) throw error;
      return copy;
    }
    if (response.status === 304 && copy !== undefined) return new Configuration(copy.value, copy.etag, false);
    const value = (await response.json()) as Record<string, unknown>;
    const configuration = new Configuration(value, response.headers.get("ETag") ?? "", false);
    store(this.copies, this.copyName, configuration);
    return configuration;
  }

  /** Returns what collects entries of the mobile log of one phone and sends them in batches. */
  logger(phone: Phone): Logger {
    return new Logger(this.connection, phone);
  }
}
