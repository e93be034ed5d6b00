import { createContext } from "react";
import type { Schema } from "agui-gate-components/core/types.js";

/** The JSON Schemas of the tools' arguments by the tools' names, as `GET /agents` tells them. Without them text that reads as a number is in quotes. */
export const Schemas = createContext<Readonly<Record<string, Schema>>>({});
