// Written by `shopwindow edge worker`: write it again rather than edit it, when a build says so.
{% if rules.key_header %}
// It holds digests of API keys and no key, so it is no secret.
{% endif %}
//
// A module for Cloudflare's Workers and for workerd. It answers the reads that a release holds as files, and hands
// every other request to the service. Its bindings:
//
//   STORE    where the files are: an R2 bucket or a KV namespace, or a host of them, which is a service binding or a
//            URL that ends with a slash
//   LAYOUT   `published`: as `shopwindow publish` writes a target; `files`: by their paths in a release, below files/
//   PREFIX   what stands before each name in the store; without it nothing does
//   SERVICE  a service binding to `shopwindow serve`; without it a request goes on to the host that it names

const RULES = {{ table }};

export default {
  async fetch(request, env) {
    return (await answerOfEdge(request, env)) ?? answerOfService(request, env);
  },
};

// The answer to a request where the edge has one: a file, or a refusal. The others are the service's: it reads every
// spelling, knows which origins may read and that files have no dates, and refuses bodies, and bad escapes without a key.
async function answerOfEdge(request, env) {
  const { headers, method } = request;
  if (method !== "GET" && method !== "HEAD") return null;
  if (isOnOrderHost(request) || NOT_OURS.some((name) => headers.has(name))) return null;

  if (RULES.open_paths.includes(pathOf(request)) || /%(00|(?![0-9a-f]{2}))/i.test(targetOf(request))) return null;
  const application = await applicationOf(headers);
  if (application === undefined) return refusal(headers, errorOf("no_key")); // who has no key learns nothing
  const format = formatOf(headers);
  const file = format && fileOf(targetOf(request));
  if (!file) return null;

  const name = `${file.stem.replaceAll(RULES.application, application)}.${format}`;
  const { body, until } = await contentOf(env, name);
  return body && fileAnswer(request, body, format, lasting(file.cacheControl, until));
}

// Cache-Control with no age that reaches over the instant at which another release follows.
function lasting(cacheControl, until) {
  const seconds = Math.max(0, Math.floor((until - Date.now()) / 1000));
  return cacheControl.replace(/(max-age|s-maxage)=(\d+)/g, (_, name, age) => `${name}=${Math.min(age, seconds)}`);
}

const NOT_OURS = ["Origin", "If-Match", "If-Unmodified-Since", "Content-Length", "Transfer-Encoding"];

async function answerOfService(request, env) {
  try {
    return await (env.SERVICE ? env.SERVICE.fetch(request) : fetch(request));
  } catch (error) {
    console.error(`the service cannot be reached: ${error}`);
    return refusal(request.headers, errorOf("unavailable", isOwnFailure(request) ? RULES.own_errors : RULES.errors));
  }
}

// -- what is asked --------------------------------------------------------------------------------------------------

const ACCEPTS = new Map(RULES.accepts.map(([value, format]) => [value.toLowerCase(), format]));
const APPLICATIONS = new Map(RULES.applications.flatMap(([name, digests]) => digests.map((digest) => [digest, name])));

// Path and query as they were sent: a URL object would respell them.
function targetOf(request) {
  return request.url.replace(/^[a-z]+:\/\/[^/?]*/i, "");
}

function isOnOrderHost(request) {
  return RULES.order_host !== "" && new URL(request.url).hostname.replace(/\.$/, "") === RULES.order_host;
}

// The path without a slash at its end, which makes no difference.
function pathOf(request) {
  return targetOf(request).split("?")[0].replace(/\/$/, "");
}

// Whether the operation has failures of a form of its own.
function isOwnFailure(request) {
  return RULES.own_paths.includes(pathOf(request)) && (RULES.order_host === "" || isOnOrderHost(request));
}

// The format of an answer. Accept is read as a whole: the common spellings, and no others.
const formatOf = (headers) => ACCEPTS.get((headers.get("Accept") ?? "").toLowerCase());

// The application that the key belongs to; undefined: to none.
async function applicationOf(headers) {
  if (RULES.key_header === "") return "";
  const key = new TextEncoder().encode(headers.get(RULES.key_header) ?? "");
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", key));
  return APPLICATIONS.get([...digest].map((byte) => byte.toString(16).padStart(2, "0")).join(""));
}

// -- which file -----------------------------------------------------------------------------------------------------

const wholeTarget = (pattern) => new RegExp(`^${RULES.base}${pattern}$`);
const ROUTES = RULES.routes.map((route, number) => ({
  place: wholeTarget(RULES.places[number]),
  names: route.query && new Set(route.query),
  cacheControl: route.cache_control,
  targets: route.targets.map(({ pattern, stem }) => ({ pattern: wholeTarget(pattern), stem })),
}));

// The file that answers a target, without its extension, and its Cache-Control.
function fileOf(target) {
  for (const { place, names, cacheControl, targets } of ROUTES) {
    if (!place.test(target.split("?")[0])) continue;
    const read = withoutUnread(target, names);
    for (const { pattern, stem } of targets) {
      const groups = pattern.exec(read);
      if (groups) return { stem: stem.replace(/\\([1-9])/g, (_, number) => groups[number]), cacheControl };
    }
  }
  return null;
}

// A target without the parameters that the operation does not read, among which are empty ones. `names` are those that
// it reads; null: nobody can list them. A name with an escape may be one of them, so it stays.
function withoutUnread(target, names) {
  const [path, ...rest] = target.split("?");
  const query = rest.join("?");
  if (names === null || query.length > RULES.max_dropped) return target;
  const isRead = (name) => names.has(name) || !/^[A-Za-z0-9._~-]*$/.test(name);
  const read = query.split("&").filter((part) => isRead(part.split("=")[0]));
  return read.length ? `${path}?${read.join("&")}` : path;
}

// -- answers --------------------------------------------------------------------------------------------------------

const MEDIA_TYPES = Object.fromEntries(RULES.media_types);
const errorOf = (code, errors = RULES.errors) => errors.find((error) => error.code === code);

// A file, or 304 to who has it. The ETag is made of the bytes, as the service and nginx make it.
async function fileAnswer(request, body, format, cacheControl) {
  const digest = new DataView(await crypto.subtle.digest("SHA-256", body));
  const tag = `"${(digest.getUint32(0) >>> 1).toString(16)}-${body.byteLength.toString(16)}"`;
  const id = requestIdOf(request.headers);
  const headers = { "Cache-Control": cacheControl, ETag: tag, Vary: RULES.vary, "X-Request-Id": id };
  const tags = (request.headers.get("If-None-Match") ?? "").split(",").map((each) => each.trim().replace(/^W\//, ""));
  if (tags.includes(tag) || tags.includes("*")) return new Response(null, { status: 304, headers });
  return new Response(body, { headers: { ...headers, "Content-Type": MEDIA_TYPES[format] } });
}

function refusal(headers, { status, bodies }) {
  const format = formatOf(headers) ?? RULES.media_types[0][0];
  return new Response(new Map(bodies).get(format), {
    status,
    headers: {
      "Cache-Control": "no-store",
      "Content-Type": MEDIA_TYPES[format],
      Vary: RULES.vary,
      "X-Request-Id": requestIdOf(headers),
      ...(status === 401 ? { "WWW-Authenticate": RULES.challenge } : {}),
    },
  });
}

// The client's own id of a request where it is sane, as the service judges it; else a new one.
function requestIdOf(headers) {
  const id = headers.get("X-Request-Id") ?? "";
  return /^[A-Za-z0-9][A-Za-z0-9._:=+/@-]{0,127}$/.test(id) ? id : crypto.randomUUID();
}

// -- the store ------------------------------------------------------------------------------------------------------

// The bytes of a release's file, and until when they are current; without bytes, the service answers.
async function contentOf(env, path) {
  try {
    if (env.LAYOUT !== "published") return { body: await stored(env, path), until: Infinity };
    const { digests, until } = await releaseInForce(env);
    const digest = digests.get(path);
    return { body: digest ? await objectOf(env, digest) : null, until };
  } catch (error) {
    console.error(`${path} cannot be read from the store: ${error}`);
    return {};
  }
}

// The bytes of this name, or a range of them, {offset, length}; null: there is nothing of this name.
async function stored(env, name, range) {
  const key = (env.PREFIX ?? "") + name;
  const isUrl = typeof env.STORE === "string";
  if (!isUrl && !env.STORE.fetch) {
    const object = await env.STORE.get(key, range ? { range } : { type: "arrayBuffer" });
    return object?.arrayBuffer ? object.arrayBuffer() : object; // R2 has an object of its own, KV the bytes
  }
  const headers = range ? { Range: `bytes=${range.offset}-${range.offset + range.length - 1}` } : {};
  const answer = await (isUrl ? fetch(env.STORE + key, { headers }) : env.STORE.fetch(`http://store/${key}`, { headers }));
  if (answer.ok) {
    const bytes = await answer.arrayBuffer();
    return range && answer.status === 200 ? bytes.slice(range.offset, range.offset + range.length) : bytes;
  }
  await answer.body?.cancel();
  if (answer.status === 404) return null;
  throw new Error(`status ${answer.status}`);
}

// -- what `shopwindow publish` writes -------------------------------------------------------------------------------

const POINTER_FORMAT = 2; // of current.json
const FORMAT = 1; // of releases/<id>/manifest.json
const POINTER_SECONDS = 10; // so old what is said to be current may be: an isolate reads the pointer no more often
const CACHED = { objects: 256, bytes: 65536 }; // so many, none larger: 16 MB at most of an isolate's 128

// What the store said at `readAt`: the releases, [{id, from}], and the files of those in force then and next, by id.
let chain = null; // {links, digests, readAt}
const cached = new Map(); // digest → bytes of an object, which never change; the one read last stands last

// The files of the release that is in force by this machine's clock, path → digest, and until when it is. One request
// waits while it reads the chain; the others go on with the one that was, and so do all while the store does not say.
async function releaseInForce(env) {
  if (chain === null || Date.now() - chain.readAt > POINTER_SECONDS * 1000) {
    if (chain) chain.readAt = Date.now();
    try {
      chain = await chainOf(env, chain?.digests);
    } catch (error) {
      if (chain === null) throw error;
      console.error(`which release is current cannot be read from the store: ${error}`);
    }
  }
  const last = begun(chain.links).findLast(({ id }) => chain.digests.has(id));
  const next = chain.links[chain.links.indexOf(last) + 1];
  return { digests: chain.digests.get(last.id), until: next ? Date.parse(next.from) : Infinity };
}

// The releases of a chain that have begun; before all of them, the first.
const begun = (links) => links.filter(({ from }, place) => place === 0 || Date.parse(from) <= Date.now());

async function chainOf(env, known) {
  const pointer = await stored(env, "current.json");
  if (pointer === null) throw new Error("there is no current.json: nothing was published there");
  const { format, chain, id } = await parsed([pointer]);
  if (format > POINTER_FORMAT) throw new Error(`current.json has format ${format}: write this worker with a newer program`);
  const links = chain ?? [{ id }]; // format 1 named one release
  const digests = new Map();
  for (const { id } of links.slice(begun(links).length - 1).slice(0, 2)) {
    const read = known?.get(id) ?? (await digestsOfRelease(env, id).catch((error) => console.error(`${id}: ${error}`)));
    if (read) digests.set(id, read);
    else if (digests.size === 0) throw new Error(`release ${id} is current and cannot be read`);
  }
  return { links, digests, readAt: Date.now() };
}

async function objectOf(env, digest) {
  const bytes = cached.get(digest) ?? (await stored(env, objectKey(digest)));
  if (bytes && bytes.byteLength <= CACHED.bytes) {
    if (!cached.delete(digest) && cached.size >= CACHED.objects) cached.delete(cached.keys().next().value);
    cached.set(digest, bytes);
  }
  return bytes;
}

// Of a release, the store has the manifest in chunks, which lie in objects; neighbors are read together.
async function digestsOfRelease(env, id) {
  const { format, objects, parts } = await parsed([await stored(env, `releases/${id}/manifest.json`)]);
  if (format > FORMAT) throw new Error(`release ${id} has format ${format}: write this worker with a newer program`);
  const ranges = [];
  for (const [, size, number, offset] of parts["manifest.json"].chunks) {
    const last = ranges.at(-1);
    if (last && last.number === number && last.offset + last.length === offset) last.length += size;
    else ranges.push({ number, offset, length: size });
  }
  const bytes = [];
  for (const { number, offset, length } of ranges) {
    bytes.push(await stored(env, objectKey(objects[number]), { offset, length }));
  }
  const { files } = await parsed(bytes);
  return new Map(files.map(({ path, sha256 }) => [path, sha256]));
}

const objectKey = (digest) => `objects/${digest.slice(0, 2)}/${digest}`;

async function parsed(parts) {
  return JSON.parse(await new Blob(parts).text());
}
