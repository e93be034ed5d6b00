import type { BaseEvent } from "@ag-ui/client";
import { useAgent } from "@copilotkit/react-core/v2";
import { createContext, useContext, useEffect, useState, useSyncExternalStore, type ReactNode } from "react";
import { NOBODY, readTeam, type Team, type Told } from "./team";

type Agent = ReturnType<typeof useAgent>["agent"];

/** Who says what in the chat, as it is now. Those who look are told when that changes, not when somebody says more. */
class TeamStore {
  #team = NOBODY;
  #sign = "";
  readonly #told = new Map<string, Told>();
  readonly #listeners = new Set<() => void>();

  subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** Stable until it changes. */
  team = (): Team => this.#team;

  /** Take what SUBAGENT_STARTED says; other events say nothing here. */
  hear(event: BaseEvent): void {
    if (event.type !== "SUBAGENT_STARTED") return;
    const { subagentRunId, name, parentSubagentRunId } = event as BaseEvent & { subagentRunId: string; name: string; parentSubagentRunId?: string };
    this.#told.set(subagentRunId, { agent: name, parent: parentSubagentRunId ?? "" });
  }

  read({ messages }: Agent, entry: string, delegates: Readonly<Record<string, string>>): void {
    const team = readTeam(messages, this.#told, entry, delegates);
    const sign = JSON.stringify([...team.speakers, ...team.tasks.values(), ...team.anchors, ...team.lanes]);
    if (sign === this.#sign) return;
    this.#sign = sign;
    this.#team = team;
    for (const listener of this.#listeners) listener();
  }
}

interface Known {
  store: TeamStore;
  onRegenerate?: (message: { id: string }) => void;
}

const Context = createContext<Known>({ store: new TeamStore() });

interface Props {
  /** The agent that the page posts to. */
  entry: string;
  /** Agents by the tools that delegate to them, where the page knows them. */
  delegates?: Readonly<Record<string, string>>;
  /** What the button below an answer does. */
  onRegenerate?: Known["onRegenerate"];
  children: ReactNode;
}

const NONE = {};

/** Knows who says what in the chat, for what is inside. Inside `CopilotKitProvider`, around the chat. */
export function TeamProvider({ entry, delegates = NONE, onRegenerate, children }: Props) {
  const { agent } = useAgent({ updates: [] });
  const [store] = useState(() => new TeamStore());
  const [known, setKnown] = useState<Known>({ store, onRegenerate });
  if (known.onRegenerate !== onRegenerate) setKnown({ store, onRegenerate });
  useEffect(() => {
    const read = () => store.read(agent, entry, delegates);
    read();
    const { unsubscribe } = agent.subscribe({ onEvent: ({ event }) => store.hear(event), onMessagesChanged: read, onRunFinalized: read });
    return unsubscribe;
  }, [agent, store, entry, delegates]);
  return <Context value={known}>{children}</Context>;
}

/** What the team is to whoever asks: `select` picks something that is the same until it changes. */
export function useTeam<T>(select: (team: Team) => T): T {
  const { store } = useContext(Context);
  return useSyncExternalStore(store.subscribe, () => select(store.team()));
}

export const useRegenerate = (): Known["onRegenerate"] => useContext(Context).onRegenerate;

/** In which task one is; "": in the conversation itself. */
export const Lane = createContext("");
