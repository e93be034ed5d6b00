// A real client with A2UI's own middleware in front of a server: says hello, clicks twice in a component, says goodbye.
//
//   node a2ui.mjs URL
//
// Output: JSON of what the client shows in the end, and of errors that it was told.

import { HttpAgent } from "@ag-ui/client";
import { A2UIMiddleware } from "@ag-ui/a2ui-middleware";

const agent = new HttpAgent({ url: process.argv[2], threadId: "a2ui" });
agent.use(new A2UIMiddleware({}));
const errors = [];
const subscriber = { onRunErrorEvent: ({ event }) => void errors.push(event.message) };

const say = (id, content) => agent.addMessage({ id, role: "user", content });
const click = (name) => ({ a2uiAction: { userAction: { name, surfaceId: "shop", sourceComponentId: "button", context: { size: 42 } } } });

say("u1", "hello");
await agent.runAgent({}, subscriber);
await agent.runAgent({ forwardedProps: click("choose") }, subscriber);
await agent.runAgent({ forwardedProps: click("buy") }, subscriber);
say("u2", "bye");
await agent.runAgent({}, subscriber);

process.stdout.write(`${JSON.stringify({ messages: agent.messages, errors })}\n`);
