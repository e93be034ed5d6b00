/**
 * Server-sent events from a fetch body. `EventSource` can't POST, and AG-UI runs are POSTs.
 *
 * Frames end in a blank line; only `data:` lines matter here (`id:`, `event:` and `: ping` comments are skipped).
 */

/** A push parser: `push(text)` returns the `data` payloads that became complete, in order. */
export function createParser() {
  let rest = "";
  return {
    push(text) {
      // A chunk may end between the CR and LF of one line end: the lone CR waits for what follows.
      const buffer = rest + text;
      const held = buffer.endsWith("\r") ? 1 : 0;
      const frames = buffer.slice(0, buffer.length - held).replace(/\r\n?/g, "\n").split("\n\n");
      rest = frames.pop() + (held ? "\r" : "");
      return frames.map(frameData).filter((data) => data !== "");
    },
  };
}

function frameData(frame) {
  return frame
    .split("\n")
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(line.startsWith("data: ") ? 6 : 5))
    .join("\n");
}

/**
 * The events of a streamed response, one parsed JSON object at a time.
 * Leaving the loop early cancels the body, which the server sees as a disconnect. `heard()` is called whenever
 * something came, be it a comment.
 */
export async function* readEvents(response, heard = () => {}) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const parser = createParser();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heard();
      for (const data of parser.push(decoder.decode(value, { stream: true }))) yield JSON.parse(data);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
