import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// `npm run dev` next to a server on port 8000: what isn't the page's own goes there, streams included.
const server = process.env.AGUI_GATE_URL ?? "http://127.0.0.1:8000";
const routes = ["/copilotkit", "/agents", "/threads", "/approvals"];

export default defineConfig({
  base: "./", // the built page works under any path
  plugins: [react()],
  server: { proxy: Object.fromEntries(routes.map((route) => [route, server])) },
  resolve: { dedupe: ["lit", "react", "react-dom", "zod", "@copilotkit/react-core", "agui-gate-components"] }, // one copy, also beside the checkout's own and for the example
  build: {
    chunkSizeWarningLimit: 4000, // the kit brings its diagram and highlight chunks, loaded on demand
    rolldownOptions: { input: ["index.html", "plain.html", "example.html"] },
  },
});
