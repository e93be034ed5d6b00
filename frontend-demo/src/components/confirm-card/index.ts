export { ApprovalCard, type Ask, type Decision } from "./ApprovalCard";
export { ConfirmCard } from "./ConfirmCard";
export { AnswerLine, GoneLine, RecordLine } from "./DecisionLine";
export type { EarlierCall } from "./Earlier";
export { Ledger, useAllRecords, useRecord } from "./Ledger";
export { useLedger } from "./useLedger";
export { together } from "./together";
