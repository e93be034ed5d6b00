// Encodes events as the protobuf binding does, with the protocol's own encoder.
//
//   node encode.mjs < EVENTS
//
// EVENTS is a JSON list. Output: a JSON list of the encoded events in hex, without their length headers.

import { createRequire } from "node:module";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

const beside = fileURLToPath(new URL("./node_modules/client-100/package.json", import.meta.url));
const { encode } = createRequire(beside)("@ag-ui/proto");

const events = JSON.parse(await text(process.stdin));
process.stdout.write(JSON.stringify(events.map((event) => Buffer.from(encode(event)).toString("hex"))));
