// Calls every operation through types of openapi-typescript and openapi-fetch, and prints what came of it.
// Arguments: the service's address, the name of the order host, the header of the key, the key.

import { once } from "node:events";
import { type IncomingMessage, request as send } from "node:http";
import { buffer } from "node:stream/consumers";
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";
import { calls } from "./calls.js";
import { Client } from "./core.js";

const [address, orderHost, header, key] = process.argv.slice(2);
const headers = { [header]: key };
const client = createClient<paths>({ baseUrl: address, headers });

/** Sends a request to the order host. Its name leads elsewhere here, and `fetch` lets nobody set the header Host. */
const toOrderHost = async (request: Request): Promise<Response> => {
  const sent = send(request.url, {
    method: request.method,
    headers: { ...Object.fromEntries(request.headers), Host: orderHost },
  });
  sent.end(await request.text());
  const [answer]: IncomingMessage[] = await once(sent, "response");
  return new Response(await buffer(answer), { status: answer.statusCode });
};
const orders = createClient<paths>({ baseUrl: address, headers, fetch: toOrderHost });

const bagOf = (answer: { data?: components["schemas"]["Bag"] }) => {
  if (!answer.data) throw new Error("no bag");
  return answer.data.bag;
};

/** How many pieces are in a bag: what it was begun with, what it was set to, and none. */
const bag = async (): Promise<number[]> => {
  const pieces = (shown: components["schemas"]["BagBag"]) =>
    (shown.items ?? []).reduce((sum, item) => sum + item.quantity, 0);

  const begun = await client.POST("/order/v1/bags", { body: { item: [{ upcId: 7001001, quantity: 2 }] } });
  const bagGuid = bagOf(begun).bagGUID;
  const [item] = bagOf(await client.GET("/order/v1/bags", { params: { query: { bagGuid } } })).items ?? [];
  const { sequenceNumber, upcId } = item;

  const set = await client.PATCH("/order/v1/bags/{bagGuid}/items", {
    params: { path: { bagGuid } },
    body: { item: [{ sequenceNumber, upcId, quantity: 5 }] },
  });
  const emptied = await client.DELETE("/order/v1/bags/{bagGuid}/items/{sequenceNumber}", {
    params: { path: { bagGuid, sequenceNumber } },
    body: { deleteitemsrequest: { upcid: upcId } },
  });
  return [begun, set, emptied].map((answer) => pieces(bagOf(answer)));
};

/** What a refusal says first: the error's type is known as well. */
const refused = async (): Promise<string | undefined> => {
  const { error } = await client.POST("/order/v1/bags", { body: {} as { item: [] } });
  return error?.errorDetail[0];
};

/** The same types over the small core: how many pieces are in a bag, and whether an app has its configuration. */
const core = async (): Promise<[number, boolean]> => {
  const texts = new Map<string, string>();
  const copies = {
    getItem: async (name: string) => texts.get(name) ?? null,
    setItem: async (name: string, text: string) => void texts.set(name, text),
  };
  const shop = new Client<paths>(address, key, copies);
  const begun = await shop.write("post", "/order/v1/bags", { item: [{ upcId: 7001001, quantity: 2 }] });
  const { bagGUID: bagGuid } = begun.value.bag;
  const set = await shop.write(
    "patch",
    "/order/v1/bags/{bagGuid}/items",
    { item: [{ sequenceNumber: 1, upcId: 7001001, quantity: 5 }] },
    { path: { bagGuid }, ifMatch: begun.etag },
  );
  const configuration = await shop.read("/v2/utility/mobileapp");
  return [set.value.bag.bagSummary.itemCount, configuration.value.configVersion !== undefined];
};

const called = await Promise.all(calls(client, orders));
const failed = called
  .filter((each) => each.response.status !== 200 || each.data === undefined)
  .map((each) => [each.response.url, each.response.status, each.error]);
console.log(JSON.stringify({ called: called.length, failed, bag: await bag(), refused: await refused(), core: await core() }));
