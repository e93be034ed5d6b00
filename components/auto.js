/** For a script tag: defines the elements. */
import { defineAguiGate } from "./agui-gate.js";

defineAguiGate();
