import { fileURLToPath } from "node:url";

/** The components of this checkout lie outside of this folder. From a registry they don't, and this file isn't needed. */
export default { turbopack: { root: fileURLToPath(new URL("../..", import.meta.url)) } };
