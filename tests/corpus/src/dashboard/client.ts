/**
 * A small client of the Ridgeline API, version 2, for the dashboard and for anybody who likes it.
 *
 * It knows three things that are tedious to write again: paging by cursor, waiting when the server
 * says 429 or 503, and cutting long ranges of raw readings into pieces of 31 days.
 */

export type Quality = "G" | "S" | "H" | "M";

export interface Reading {
  time: string;
  error?: string;
  q: Record<string, Quality>;
  [field: string]: unknown;
}

export interface Station {
  id: string;
  model: string;
  name: string;
  firmware: string;
  last_frame: string | null;
}

interface Page<T> {
  items: T[];
  next?: string;
}

export interface ClientOptions {
  token: string;
  base?: string;
  /** Give up after so many refusals in a row. */
  maxAttempts?: number;
  fetch?: typeof fetch;
  sleep?: (milliseconds: number) => Promise<void>;
}

/** An answer of the server that is neither success nor a request to wait. */
export class RidgelineError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
  ) {
    super(`${status} ${code}: ${detail}`);
    this.name = "RidgelineError";
  }
}

const DAY = 86_400_000;
const MAX_RAW_DAYS = 31;

const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

export class RidgelineClient {
  private readonly base: string;
  private readonly maxAttempts: number;
  private readonly fetch: typeof fetch;
  private readonly sleep: (milliseconds: number) => Promise<void>;

  constructor(private readonly options: ClientOptions) {
    if (!options.token.startsWith("rl_")) {
      throw new TypeError("a Ridgeline token begins with rl_");
    }
    this.base = options.base ?? "https://api.ridgeline.serrach.example/v2";
    this.maxAttempts = options.maxAttempts ?? 6;
    this.fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
    this.sleep = options.sleep ?? pause;
  }

  /** List all stations the token may see, page by page. */
  async *stations(filter: { model?: string; state?: string } = {}): AsyncGenerator<Station> {
    yield* this.pages<Station>("/stations", { ...filter });
  }

  /** Yield raw readings of [from, to), cutting the range so that no request spans more than 31 days. */
  async *readings(id: string, from: Date, to: Date, fields: string[] = []): AsyncGenerator<Reading> {
    for (let start = from.getTime(); start < to.getTime(); start += MAX_RAW_DAYS * DAY) {
      const end = Math.min(start + MAX_RAW_DAYS * DAY, to.getTime());
      const query: Record<string, string> = {
        from: new Date(start).toISOString(),
        to: new Date(end).toISOString(),
        quality: "G,S,M",
      };
      if (fields.length > 0) query.fields = fields.join(",");
      yield* this.pages<Reading>(`/stations/${encodeURIComponent(id)}/readings`, query);
    }
  }

  private async *pages<T>(path: string, query: Record<string, string>): AsyncGenerator<T> {
    let cursor: string | undefined;
    do {
      const page: Page<T> = await this.get(path, cursor ? { ...query, cursor } : query);
      yield* page.items;
      cursor = page.next;
    } while (cursor);
  }

  private async get<T>(path: string, query: Record<string, string>): Promise<T> {
    const url = `${this.base}${path}?${new URLSearchParams(query)}`;
    for (let attempt = 1; ; attempt++) {
      const response = await this.fetch(url, {
        headers: { authorization: `Bearer ${this.options.token}`, accept: "application/json" },
      });
      if (response.ok) return (await response.json()) as T;
      const wait = waitFor(response, attempt);
      if (wait === null || attempt >= this.maxAttempts) {
        const body = await response.json().catch(() => ({}));
        throw new RidgelineError(response.status, body.error ?? "unknown", body.detail ?? response.statusText);
      }
      await this.sleep(wait);
    }
  }
}

/** Return how long to wait in milliseconds, or null where waiting does not help. */
export function waitFor(response: Response, attempt: number): number | null {
  if (response.status !== 429 && response.status !== 503) return null;
  const header = Number(response.headers.get("retry-after"));
  if (Number.isFinite(header) && header > 0) return header * 1000;
  return Math.min(30_000, 500 * 2 ** (attempt - 1));
}

/** True where a curve stands still although it should not: the lesson of INC-2024-02. */
export function looksFrozen(readings: Reading[], field: string, hours = 3): boolean {
  const values = readings.filter((reading) => reading.q[field] === "G");
  if (values.length < 2) return false;
  const last = values[values.length - 1];
  const since = Date.parse(last.time) - hours * 3_600_000;
  const recent = values.filter((reading) => Date.parse(reading.time) >= since);
  return Date.parse(values[0].time) <= since && recent.every((reading) => reading[field] === last[field]);
}
