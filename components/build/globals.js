// Without a DOM lit's classes can be read, not used.
export const HTMLElement = globalThis.HTMLElement ?? class {};
export const document = globalThis.document ?? { createTreeWalker: () => ({}) };
