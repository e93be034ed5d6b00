/** How the page reaches the agent: three ways, all to the same server. */

import { HttpAgent, runHttpRequest, transformHttpEventStream, type RunAgentInput } from "@ag-ui/client";
import { useCallback, useEffect, useState } from "react";

export type Via = "direct" | "runtime" | "browser";
export type Style = "card" | "interrupt";

export const VIAS: Record<Via, string> = {
  direct: "CopilotKit routes of the server",
  runtime: "CopilotKit's Node runtime",
  browser: "HttpAgent in the browser",
};

export const STYLES: Record<Style, string> = { card: "Confirm cards", interrupt: "Interrupts" };

/** The server that this page came from (or, in development, that the proxy points at), with a slash at the end. */
export const SERVER = new URL("../", location.href).href;
const RUNTIME = "http://127.0.0.1:4000/api/copilotkit";

export interface Choice {
  /** The agent of a new chat; "": the server's first. */
  agent: string;
  via: Via;
  style: Style;
  /** The Node runtime's address; only `via=runtime` uses it. */
  runtime: string;
  /** Somebody says that there is one. */
  hasRuntime: boolean;
}

/** What the address asks for; what it doesn't say has a default. */
export function readChoice(search: string): Choice {
  const query = new URLSearchParams(search);
  const via = query.get("via") ?? "";
  return {
    agent: query.get("agent") ?? "",
    via: via in VIAS ? (via as Via) : "direct",
    style: query.get("hitl") === "interrupt" ? "interrupt" : "card",
    runtime: query.get("runtime") ?? RUNTIME,
    hasRuntime: query.has("runtime") || via === "runtime",
  };
}

/** The same address with something else chosen. */
export function choiceUrl(changes: Partial<Choice>): string {
  const url = new URL(location.href);
  const { via, hasRuntime, runtime } = readChoice(url.search);
  if (hasRuntime && via === "runtime") url.searchParams.set("runtime", runtime); // stays on offer
  if (changes.agent !== undefined) url.searchParams.set("agent", changes.agent);
  if (changes.via) url.searchParams.set("via", changes.via);
  if (changes.style) url.searchParams.set("hitl", changes.style);
  return url.href;
}

/** What is chosen, kept in the address like the thread. */
export function useChoice() {
  const [choice, setChoice] = useState(() => readChoice(location.search));
  const follow = useCallback(() => setChoice(readChoice(location.search)), []);
  useEffect(() => {
    addEventListener("popstate", follow);
    return () => removeEventListener("popstate", follow);
  }, [follow]);
  const choose = useCallback(
    (changes: Partial<Choice>) => {
      history.pushState(null, "", choiceUrl(changes));
      follow();
    },
    [follow],
  );
  return { choice, choose };
}

const LEAVING = { "AGUI-Gate-Leaving": "continue" }; // closing a stream stops nothing, as `abortRun` asks for that

/** `HttpAgent` plus what it leaves to its subclasses: the restore after a reload, and a stop that the server is told of. */
export class RestoringAgent extends HttpAgent {
  #stopped: Promise<unknown> = Promise.resolve();

  /** A run that was just stopped has ended before the next one begins; else that one would find the thread busy. */
  override run(input: RunAgentInput) {
    const afterwards = async () => {
      await this.#stopped;
      const init = this.requestInit(input);
      return this.fetch(this.url, { ...init, headers: { ...init.headers, ...LEAVING } });
    };
    return transformHttpEventStream(runHttpRequest(afterwards));
  }

  protected override connect(input: RunAgentInput) {
    return transformHttpEventStream(runHttpRequest(() => this.fetch(`${this.url}/connect`, this.requestInit(input))));
  }

  override abortRun() {
    super.abortRun();
    const url = new URL(`threads/${encodeURIComponent(this.threadId)}/cancel`, SERVER).href;
    const headers = { ...this.headers, "content-type": "application/json" }; // so that a browser asks a foreign server first
    this.#stopped = this.fetch(url, { method: "POST", headers }).catch(() => null);
  }
}

type Address = { runtimeUrl: string } | { agents__unsafe_dev_only: Record<string, RestoringAgent> };

/** The provider's properties for a choice, without headers. `agent` is the agent's name on the server. */
export function providerProps({ via, runtime }: Choice, agent: string): Address {
  if (via === "browser") {
    const url = new URL(`agents/${encodeURIComponent(agent)}`, SERVER).href;
    return { agents__unsafe_dev_only: { [agent]: new RestoringAgent({ url }) } };
  }
  return { runtimeUrl: via === "runtime" ? runtime : new URL("copilotkit", SERVER).href };
}

/** The same properties for requests with these headers. Direct agents stay who they are, with all that was said. */
export function withHeaders(address: Address, headers: Record<string, string>) {
  if ("runtimeUrl" in address) return { ...address, headers };
  for (const agent of Object.values(address.agents__unsafe_dev_only)) agent.headers = headers;
  return address;
}
