const SILENCE = 45_000; // ms without the beginning of an answer, after which there comes none

/**
 * As `fetch`, to read what is there. Rejects where no answer begins in time: a connection can be dead without
 * anybody being told, and who asks for one thing after the other would wait for it for ever.
 */
export async function ask(url: URL, init: RequestInit): Promise<Response> {
  const dead = new AbortController();
  const timer = setTimeout(() => dead.abort(), SILENCE);
  try {
    return await fetch(url, { ...init, signal: dead.signal });
  } finally {
    clearTimeout(timer);
  }
}
