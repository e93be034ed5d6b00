export { Interrupts } from "./Interrupts";
