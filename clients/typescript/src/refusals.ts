/** What a request may end with instead of an answer. */

/** The service did not answer in time, or could not: try again later. */
export class Unreachable extends Error {}

/** The service refused a request. */
export class Refused extends Error {
  constructor(
    /** The HTTP status. */
    readonly status: number,
    /** The service's errorCode; 0 where the body has none. */
    readonly code: number,
    /** One sentence for each fault. */
    readonly details: readonly string[],
    /** What to name when asking the service's operators. */
    readonly requestId: string,
    /** Seconds to wait before the next attempt; undefined: repeating it does not help. */
    readonly retryAfter: number | undefined,
    message: string,
  ) {
    super(`${status}: ${details.join("; ") || message} (request ${requestId})`);
  }
}

interface ErrorBody {
  errorCode?: number;
  message?: string;
  errorMessage?: string;
  errorDetail?: string[];
}

/** Returns what an answer with an error says, whoever has sent it. */
export async function refused(response: Response): Promise<Refused> {
  const body = await response.json().then(
    (value: unknown) => (typeof value === "object" && value !== null ? (value as ErrorBody) : {}),
    () => ({}) as ErrorBody,
  );
  const wait = Number(response.headers.get("Retry-After") ?? NaN);
  return new Refused(
    response.status,
    body.errorCode ?? 0,
    body.errorDetail ?? [],
    response.headers.get("X-Request-Id") ?? "",
    Number.isNaN(wait) ? undefined : wait,
    body.message ?? body.errorMessage ?? response.statusText,
  );
}
