// CopilotKit's Node runtime in front of agui-gate: only needed if a project already has one, or wants its features.
//   AGUI_GATE_URL=http://127.0.0.1:8000 PORT=4000 npm start
import { createServer } from "node:http";
import { HttpAgent } from "@ag-ui/client";

process.env.COPILOTKIT_TELEMETRY_DISABLED = "true";
const { CopilotRuntime } = await import("@copilotkit/runtime/v2");
const { createCopilotNodeListener } = await import("@copilotkit/runtime/v2/node");

const server = process.env.AGUI_GATE_URL ?? "http://127.0.0.1:8000";
const port = Number(process.env.PORT ?? 4000);
const token = process.env.AGUI_GATE_TOKEN;

const headers = token ? { authorization: `Bearer ${token}` } : {};
const { agents } = await (await fetch(`${server}/agents`, { headers })).json();
const proxied = agents.map(({ name }) => [name, new HttpAgent({ url: `${server}/agents/${name}` })]);
const runtime = new CopilotRuntime({ agents: Object.fromEntries(proxied) });

const listener = createCopilotNodeListener({ runtime, basePath: "/api/copilotkit", cors: true });
createServer(listener).listen(port, "127.0.0.1", function listening() {
  const url = `http://127.0.0.1:${this.address().port}/api/copilotkit`;
  console.log(`CopilotKit's runtime is up at ${url}; the page through it: ${server}/copilot/?via=runtime&runtime=${encodeURIComponent(url)}`);
});
