/** Follows a stream of server-sent events by fetch, which can send headers, as `EventSource` can't. */

interface Source {
  url: URL;
  headers?: Record<string, string>;
  /** One came, of this name. */
  onEvent: (name: string) => void;
  /** The stream is away. It is opened again. */
  onAway: () => void;
}

const SOONEST = 1000; // ms until the next try
const RARELY = 60_000; // ms between tries at most; a stream that lasted longer was a good one
const SILENCE = 45_000; // ms without a byte, after which it is dead: the server pings every 15 s

/**
 * While the page is visible there is one stream; a hidden page leaves its connection to others, as a browser has only
 * six for a server. Whatever ends it, also a refusal, it is opened again, later and later. Returns what ends it.
 */
export function follow(source: Source): () => void {
  let stream: AbortController | null = null;
  const close = () => {
    if (!stream) return;
    stream.abort();
    stream = null;
    source.onAway();
  };
  const turn = () => {
    if (document.visibilityState !== "visible") return close();
    if (stream) return;
    stream = new AbortController();
    void keep(source, stream.signal);
  };
  turn();
  document.addEventListener("visibilitychange", turn);
  return () => {
    document.removeEventListener("visibilitychange", turn);
    close();
  };
}

async function keep(source: Source, signal: AbortSignal): Promise<void> {
  let wait = SOONEST;
  while (!signal.aborted) {
    const begun = Date.now();
    await read(source, signal).catch(() => {}); // refused, cut off or dead
    if (signal.aborted) return;
    source.onAway();
    if (Date.now() - begun > RARELY) wait = SOONEST;
    await pause(wait * (0.5 + Math.random()), signal); // not all pages at once
    wait = Math.min(wait * 2, RARELY);
  }
}

/** One stream, to its end. */
async function read({ url, headers, onEvent }: Source, signal: AbortSignal): Promise<void> {
  const dead = new AbortController();
  const isAlive = () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => dead.abort(), SILENCE);
  };
  let timer = 0;
  isAlive();
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.any([signal, dead.signal]) });
    if (!response.ok) return await response.body?.cancel();
    const reader = response.body!.getReader();
    const decoder = new TextDecoder();
    for (let rest = "", chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      isAlive();
      const lines = (rest + decoder.decode(chunk.value, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line.startsWith("event:")) onEvent(line.slice("event:".length).trim());
    }
  } finally {
    clearTimeout(timer);
  }
}

const pause = (ms: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
