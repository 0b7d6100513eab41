// Does with the client in clients/typescript what tests/slow/test_our_clients.py does with the one in Python, and prints it.
// Arguments: the folder of the compiled client, the address of a server that misbehaves when it is told to, how it does.

// What React Native lacks, this client has to do without.
delete AbortSignal.timeout;
delete URLSearchParams.prototype.set;
Object.defineProperty(globalThis, "crypto", { value: undefined });

const [folder, address, steps] = process.argv.slice(2);
const { Client, Refused, Unreachable } = await import(`${folder}/index.js`);

const texts = new Map();
const copies = {
  getItem: async (name) => texts.get(name) ?? null,
  setItem: async (name, text) => void texts.set(name, text),
};
let now = 1_000_000_000_000;
const client = new Client(address, "a-key", copies, undefined, () => now);

const behave = (mode) => fetch(`${address}/behave/${mode}`);
const outcome = async (work) => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refused) return [error.status, error.code, error.message, error.retryAfter ?? null];
    if (error instanceof Unreachable) return "unreachable";
    throw error;
  }
};
const read = () =>
  outcome(async () => {
    const answer = await client.read("/v1/things/{id}", { path: { id: "a b" }, query: { tag: "x,y&z" } });
    return [answer.value.name, answer.etag, answer.isCopy];
  });
const write = (method) => outcome(async () => (await client.write(method, "/v1/things", { name: "new" })).value.name);

const printed = { reads: [], writes: [] };
for (const [mode, seconds] of JSON.parse(steps)) {
  await behave(mode);
  now += seconds * 1000;
  printed.reads.push(await read());
}
for (const [mode, method] of [["lost", "post"], ["busy", "post"], ["refuses", "post"], ["lost", "put"]]) {
  await behave(mode);
  printed.writes.push(await write(method));
}
for (let number = 0; number < 21; number += 1) client.log("ERROR", `${number}`, { deviceId: "a-phone", platform: "iPhone" });
await behave("portal");
printed.portal = await outcome(() => client.flush());
await behave("lost");
printed.log = [await client.flush(), client.dropped];
printed.seen = await (await fetch(`${address}/seen`)).json();

const fails = () => Promise.reject(new Error("the store is full"));
const named = (other, form) =>
  outcome(async () => {
    const answer = await other.read("/v1/things", {}, form);
    return [answer.value.name, answer.etag, answer.isCopy];
  });
for (const [mode, first, store] of [["private", "private", copies], ["full", "good", { getItem: fails, setItem: fails }]]) {
  const other = new Client(address, "another-key", store);
  await behave(first);
  printed[mode] = [await named(other)];
  await behave("broken");
  printed[mode].push(await named(other));
}
await behave("good");
await named(client);
printed.form = [await named(client, (value) => value.storeEvents.length > 0), await named(client)];
console.log(JSON.stringify(printed));
