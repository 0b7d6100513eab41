// Does with the client in clients/typescript what tests/slow/test_our_clients.py does with the one in Python, and prints it.
// Arguments: the folder of the compiled client, the service's address, the key, an address where nobody listens.

const [folder, address, key, nowhere] = process.argv.slice(2);
const { Client, Refused, Unreachable, memory } = await import(`${folder}/index.js`);

const outcome = async (work) => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refused) return [error.status, error.code, error.requestId !== ""];
    if (error instanceof Unreachable) return "unreachable";
    throw error;
  }
};

const copies = memory();
const client = new Client(address, key, { copies });
const away = new Client(nowhere, key, { timeout: 500 });
const first = await client.configuration();
const again = await client.configuration();
const path = "poorNetwork/poorWifiMaxSecsLatency";

const added = await client.bags.add(new Map([[7001001, 2]]));
const more = await client.bags.add(new Map([[7001001, 1]]), added.guid, added.etag);
const set = await client.bags.setQuantity(more, more.items[0], 5, more.etag);
const late = await outcome(() => client.bags.setQuantity(more, more.items[0], 1, more.etag));
const removed = await client.bags.remove(set, set.items[0]);

const log = client.logger({ deviceId: "7c1e0b52-phone", platform: "iPhone" });
log.log("ERROR", "one");
log.log("ERROR", "two");
const stored = await log.flush();

console.log(
  JSON.stringify({
    configuration: [first.at(path), first.isCopy, again.isCopy, again.etag === first.etag, first.at("none")],
    stores: (await client.read("store/v2/stores", { storeNumber: 4001 })).stores.store.map((store) => store.storeNumber),
    refused: await outcome(() => client.read("store/v1/events")),
    key: await outcome(() => new Client(address, "none").configuration()),
    away: await outcome(() => away.configuration()),
    bag: [added, more, set, removed].map((bag) => [bag.items.map((item) => item.quantity), bag.guid === added.guid]),
    late,
    log: [stored, log.dropped, await log.flush()],
  }),
);
