// `node --import ./on_1_0.mjs …`: whoever asks for AG-UI's client gets 1.0.0, whatever version it would have.

import { register } from "node:module";

const CLIENT = import.meta.resolve("client-100");
const hook = `export const resolve = (name, context, next) =>
  name === "@ag-ui/client" ? { url: ${JSON.stringify(CLIENT)}, shortCircuit: true } : next(name, context);`;

register(`data:text/javascript,${encodeURIComponent(hook)}`);
