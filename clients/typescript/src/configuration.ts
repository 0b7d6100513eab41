/** An application's configuration, and copies of it for when the service is away. */

/** Where copies are stored: localStorage has this form, and so has `memory()`. */
export interface Copies {
  getItem(name: string): string | null;
  setItem(name: string, text: string): void;
}

/** Returns copies that last as long as the program. */
export function memory(): Copies {
  const texts = new Map<string, string>();
  return { getItem: (name) => texts.get(name) ?? null, setItem: (name, text) => void texts.set(name, text) };
}

export class Configuration {
  constructor(
    /** The whole answer of v2/utility/mobileapp. */
    readonly value: Readonly<Record<string, unknown>>,
    /** Identifies this state of it; empty: the service sent none. */
    readonly etag: string,
    /** It was read from the copy, for the service is away. */
    readonly isCopy: boolean,
  ) {}

  /** Returns a value by its path, such as `poorNetwork/poorWifiMaxSecsLatency`; undefined where there is none. */
  at(path: string): unknown {
    let part: unknown = this.value;
    for (const step of path.split("/")) {
      if (typeof part !== "object" || part === null || !Object.hasOwn(part, step)) return undefined;
      part = (part as Record<string, unknown>)[step];
    }
    return part;
  }
}

/** Returns the copy; undefined where there is none, or it is damaged. */
export function load(copies: Copies, name: string): Configuration | undefined {
  try {
    const stored = JSON.parse(copies.getItem(name) ?? "") as { etag?: unknown; value?: unknown };
    if (typeof stored.etag !== "string" || typeof stored.value !== "object" || stored.value === null) return undefined;
    return new Configuration(stored.value as Record<string, unknown>, stored.etag, true);
  } catch {
    return undefined;
  }
}

export function store(copies: Copies, name: string, configuration: Configuration): void {
  copies.setItem(name, JSON.stringify({ etag: configuration.etag, value: configuration.value }));
}
