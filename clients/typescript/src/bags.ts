/** Shopping bags: what is in one, and its changes. */

import type { Connection } from "./connection.js";

const PATH = "order/v1/bags";

export interface BagItem {
  /** Its sequenceNumber in this bag. */
  readonly number: number;
  /** Which article: the skuid of its UPC. */
  readonly upcId: number;
  readonly quantity: number;
  /** Of one piece; undefined: the service has no catalog. */
  readonly price: number | undefined;
  /** Such as ITEM_UNAVAILABLE; empty: it can be ordered. */
  readonly faults: readonly string[];
}

export interface Bag {
  /** Names it in requests. */
  readonly guid: string;
  /** The number of its guest user. */
  readonly user: number;
  /** In the order in which they came in. */
  readonly items: readonly BagItem[];
  /** What is to be paid; undefined: the service has no catalog. */
  readonly total: number | undefined;
  /** Identifies this state of it. */
  readonly etag: string;
}

interface Answer {
  bag: {
    bagGUID: string;
    owner: { userId: number };
    bagSummary: { grandTotal?: number };
    items?: {
      sequenceNumber: number;
      upcId: number;
      quantity: number;
      retailPrice?: number;
      errors?: { code: string }[];
    }[];
  };
}

/**
 * The bags of one application.
 *
 * A change with the `etag` of an earlier answer is refused (status 412) where somebody else has changed the bag since.
 * Every method throws Refused or Unreachable.
 */
export class Bags {
  constructor(private readonly connection: Connection) {}

  /** Returns a bag. */
  async get(guid: string): Promise<Bag> {
    return bag(await this.connection.send("GET", PATH, { query: { bagGuid: guid } }));
  }

  /**
   * Adds articles, by upc id, and returns the bag; without `guid`, a new bag of a new guest user.
   *
   * It is safe to repeat: the request has an Idempotency-Key, so a lost answer never adds twice.
   */
  async add(quantities: ReadonlyMap<number, number>, guid?: string, etag?: string): Promise<Bag> {
    const item = [...quantities].map(([upcId, quantity]) => ({ upcId, quantity }));
    const headers = { "Idempotency-Key": crypto.randomUUID(), ...condition(etag) };
    const query = guid === undefined ? {} : { bagGuid: guid };
    return bag(await this.connection.send("POST", PATH, { query, body: { item }, headers }));
  }

  /** Sets how many pieces of an item are in a bag; 0 takes it out. Returns the bag. */
  async setQuantity(of: Bag, item: BagItem, quantity: number, etag?: string): Promise<Bag> {
    const change = { sequenceNumber: item.number, upcId: item.upcId, quantity };
    const body = { item: [change] };
    return bag(await this.connection.send("PATCH", `${PATH}/${of.guid}/items`, { body, headers: condition(etag) }));
  }

  /** Takes an item out of a bag, and returns the bag. */
  async remove(of: Bag, item: BagItem, etag?: string): Promise<Bag> {
    const path = `${PATH}/${of.guid}/items/${item.number}`;
    return bag(await this.connection.send("DELETE", path, { headers: condition(etag) }));
  }
}

function condition(etag: string | undefined): Record<string, string> {
  return etag === undefined ? {} : { "If-Match": etag };
}

async function bag(response: Response): Promise<Bag> {
  const { bag: answer } = (await response.json()) as Answer;
  return {
    guid: answer.bagGUID,
    user: answer.owner.userId,
    items: (answer.items ?? []).map((item) => ({
      number: item.sequenceNumber,
      upcId: item.upcId,
      quantity: item.quantity,
      price: item.retailPrice,
      faults: (item.errors ?? []).map((fault) => fault.code),
    })),
    total: answer.bagSummary.grandTotal,
    etag: response.headers.get("ETag") ?? "",
  };
}
