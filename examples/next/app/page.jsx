import { Approvals } from "./Approvals.jsx";

/** Rendered on the server: the call that the address names, and the inbox. */
export default async function Page({ searchParams }) {
  const { approval } = await searchParams;
  return <Approvals base={process.env.AGENTS ?? "http://127.0.0.1:8000/"} approval={approval} />;
}
