// The page as it is when CopilotKit takes client 1.0.0: the kit's newest core, and that client, in place of its own.

import { fileURLToPath } from "node:url";
import page from "../../frontend-demo/vite.config.ts";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const installed = (path) => here(`../interop/node_modules/${path}`);

export default {
  ...page,
  resolve: {
    ...page.resolve,
    alias: [
      { find: /^@ag-ui\/client$/, replacement: installed("client-100/dist/index.mjs") },
      { find: /^@copilotkit\/core$/, replacement: installed("@copilotkit/core/dist/index.mjs") },
    ],
  },
  build: {
    ...page.build,
    outDir: here("next"),
    emptyOutDir: true,
    rolldownOptions: { ...page.build.rolldownOptions, shimMissingExports: true }, // names that 1.0.0 has no more, and nothing here uses
  },
};
