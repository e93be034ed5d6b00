export { Card } from "./Card";
export { ConfirmCard } from "./ConfirmCard";
export { GoneLine, RecordLine } from "./DecisionLine";
export type { Ask, CallRecord, Decision } from "./elements";
export { Ledger, useAllRecords, useRecord } from "./Ledger";
export { useLedger } from "./useLedger";
