/** New ids for threads, runs and messages. */

export function createId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  // randomUUID needs a secure context, which a plain-HTTP address on a local network is not.
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
