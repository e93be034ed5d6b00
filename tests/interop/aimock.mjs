// CopilotKit's mock of model providers: `node aimock.mjs FIXTURES KEY` prints its address, and ends with standard input.
import { LLMock } from "@copilotkit/aimock";

const [fixtures, key] = process.argv.slice(2);
const mock = new LLMock({ port: 0, host: "127.0.0.1", logLevel: "silent", strict: true, auth: { apiKeys: [key] } });
mock.loadFixtureFile(fixtures);
await mock.start();
console.log(mock.url);
process.stdin.resume().on("end", () => process.exit(0));
