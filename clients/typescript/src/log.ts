/** The mobile log: entries are collected and sent in batches, each once. */

import type { Connection } from "./connection.js";
import { Refused } from "./refusals.js";

export type Level = "ERROR" | "WARN" | "INFO" | "DEBUG";

export interface Phone {
  /** Identifies the phone. */
  readonly deviceId: string;
  /** What it runs, such as iPhone. */
  readonly platform: string;
  /** The retailer's user id, if there is one. */
  readonly svcUid?: string;
}

interface Entry {
  readonly logLevel: Level;
  readonly logMessage: string;
}

interface Batch {
  readonly key: string;
  readonly entries: readonly Entry[];
}

/** Entries that wait for the service; beyond that the oldest are dropped, and counted in `dropped`. */
const WAITING = 1000;

/** Characters of a message that the service takes; the rest is cut off. */
const LONGEST_MESSAGE = 4000;

/** Statuses after which the same entries would be refused again. */
const NEVER_TAKEN: ReadonlySet<number> = new Set([400, 413, 422]);

/** Collects entries of one phone. */
export class Logger {
  /** Entries that were lost: too many waited, or the service does not want them. */
  dropped = 0;
  private waiting: Entry[] = [];
  private batch: Batch | undefined;
  private flushing: Promise<number> | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly phone: Phone,
    /** Entries in a request; an application's loggingInfo may admit fewer (maxLogCount). */
    private readonly size = 20,
  ) {}

  /** Adds an entry. It is sent by `flush`. */
  log(logLevel: Level, message: string): void {
    this.waiting.push({ logLevel, logMessage: message.slice(0, LONGEST_MESSAGE) || " " });
    while (this.waiting.length > WAITING) {
      this.waiting.shift();
      this.dropped += 1;
    }
  }

  /**
   * Sends what waits, and returns how many entries the service has stored. A second call joins the first.
   *
   * A batch whose answer was lost is sent again under its key, so no entry is stored twice. Throws Refused or
   * Unreachable; the entries then wait for the next call, unless they would be refused again.
   */
  flush(): Promise<number> {
    this.flushing ??= this.sendAll().finally(() => (this.flushing = undefined));
    return this.flushing;
  }

  private async sendAll(): Promise<number> {
    let stored = 0;
    for (;;) {
      this.batch ??= this.nextBatch();
      if (this.batch === undefined) return stored;
      stored += await this.send(this.batch);
      this.batch = undefined;
    }
  }

  private nextBatch(): Batch | undefined {
    const entries = this.waiting.splice(0, this.size);
    return entries.length > 0 ? { key: crypto.randomUUID(), entries } : undefined;
  }

  private async send({ key, entries }: Batch): Promise<number> {
    const body = { entry: entries.map((entry) => ({ ...this.phone, ...entry })) };
    try {
      const response = await this.connection.send("POST", "v2/utility/mobilelog", {
        body,
        headers: { "Idempotency-Key": key },
      });
      const answer = (await response.json()) as { logPostResponse: { success: boolean } };
      if (answer.logPostResponse.success) return entries.length;
    } catch (error) {
      if (error instanceof Refused && NEVER_TAKEN.has(error.status)) {
        this.batch = undefined;
        this.dropped += entries.length;
      }
      throw error;
    }
    this.dropped += entries.length;
    return 0;
  }
}
