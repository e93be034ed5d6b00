import { CopilotKitProvider } from "@copilotkit/react-core/v2";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { delegatesOf, pick, schemasOf, useAgents } from "./agents";
import { activities } from "./components/activity";
import { Schemas } from "./components/confirm-card/schemas";
import { Inbox } from "./components/inbox";
import { teamActivities } from "./components/team";
import { useThreadList } from "./components/thread-list";
import { providerProps, SERVER, useChoice, withHeaders, type Choice } from "./connection";
import { CUT, LOST, SILENT, toProblem, type Problem } from "./problems";
import { Banner } from "./shell/Banner";
import { Boundary } from "./shell/Boundary";
import { Chat, type Resend } from "./shell/Chat";
import { Header } from "./shell/Header";
import { Sidebar } from "./shell/Sidebar";
import { IsLost, unread } from "./shell/Unread";
import { tokenIn, useToken } from "./shell/useToken";
import { newId, useThread } from "./thread";

const inTeam = teamActivities(activities);

/** The whole page. A new thread or a new attempt is a new provider: no state of the old one can get in the way. */
export function App() {
  const { choice, choose } = useChoice();
  const { headers, saveToken } = useToken();
  const { agents, problem: startProblem, load } = useAgents(headers);
  const { thread, open } = useThread();
  const [problem, setProblem] = useState<Problem | null>(null);
  const [attempt, setAttempt] = useState(0);
  const [drawer, setDrawer] = useState(false);
  const [waits, setWaits] = useState<Record<string, string>>({});
  const list = useThreadList({ server: SERVER, headers });
  const listed = list.threads.find(({ id }) => id === thread);
  const isKnown = agents.length < 2 || list.isRead; // a chat stays with its agent
  const agent = isKnown ? pick(agents, listed?.agent ?? choice.agent) : undefined;
  const delegates = useMemo(() => (agent ? delegatesOf(agent) : {}), [agent]);
  const schemas = useMemo(() => schemasOf(agents), [agents]);

  const report = useCallback((reported: Parameters<typeof toProblem>[0]) => setProblem((before) => toProblem(reported) ?? before), []);
  const clear = useCallback(() => setProblem(null), []);
  const cut = useCallback(
    (began: boolean) => {
      setProblem(began ? CUT : SILENT);
      if (!began) void load(); // CopilotKit's Node runtime keeps the reason to itself; the server tells (401, say)
    },
    [load],
  );
  const { reload: reloadList } = list;
  const runOver = useCallback(() => void reloadList(), [reloadList]);
  const news = useCallback(
    (others?: Record<string, string>) => {
      if (others) setWaits(others);
      runOver();
    },
    [runOver],
  );
  const resend = useRef<Resend>({ again: () => {}, goOn: () => {}, takeBack: () => {} });
  useEffect(() => resend.current.again(), [headers]); // a token was entered: what it was wanted for goes out again
  const renew = () => {
    setProblem(null);
    setAttempt((before) => before + 1);
    void load();
    void list.reload();
  };
  const retry = () => {
    if (startProblem) renew();
    else if (problem?.code === LOST) resend.current.goOn();
    else resend.current.again(problem?.hasFailed, renew);
  };
  const takeBack = () => {
    setProblem(null);
    resend.current.takeBack();
  };
  const enter = (token: string) => {
    setProblem(null);
    saveToken(token); // new headers: everything that uses them begins anew
  };
  const rechoose = (changes: Partial<Choice>) => {
    setProblem(null);
    setDrawer(false);
    choose(changes);
    if (changes.agent !== undefined) open(newId());
  };
  const go = (id: string) => {
    setProblem(null);
    setDrawer(false);
    if (id !== thread) open(id);
  };
  const shown = startProblem ?? problem;
  const choices = { agents: agents.map(({ name }) => name), choice: { ...choice, agent: agent?.name ?? choice.agent }, onChoose: rechoose };
  const connection = useConnection(choice, agent?.name, headers, attempt, thread);

  return (
    <Schemas value={schemas}>
      <div className="page">
        <a className="skip" href="#chat">Skip to the chat</a>
        <Sidebar list={list} {...choices} current={thread} waits={waits} isOpen={drawer} onClose={() => setDrawer(false)} onOpen={go} onNew={() => go(newId())} />
        <div className="main">
          <Header name={agent?.name} {...choices} isDrawerOpen={drawer} onMenu={() => setDrawer(true)}>
            <Inbox server={SERVER} token={tokenIn(headers)} current={thread} onOpenChat={go} onNews={news} />
          </Header>
          {shown && <Banner problem={shown} onRetry={retry} onTakeBack={takeBack} onToken={enter} onClose={startProblem ? undefined : clear} />}
          <main id="chat" className="chat" tabIndex={-1}>
            {agent && connection && (
              <Boundary key={[agent.name, thread, attempt, choice.via, choice.style].join()} onError={report}>
                <CopilotKitProvider {...connection} agentId={agent.name} renderActivityMessages={inTeam} renderCustomMessages={unread} enableInspector={false} onError={report}>
                  <IsLost value={shown?.code === LOST}>
                    <Chat agent={agent} delegates={delegates} thread={thread} choice={choice} headers={headers} isListed={listed !== undefined} onSend={clear} onRunOver={runOver} onCut={cut} onStopped={setProblem} resend={resend} />
                  </IsLost>
                </CopilotKitProvider>
              </Boundary>
            )}
          </main>
        </div>
      </div>
    </Schemas>
  );
}

/** The provider's properties; stable for as long as nothing they are made of changes. */
function useConnection(choice: Choice, name: string | undefined, headers: Record<string, string>, attempt: number, thread: string) {
  const address = useMemo(
    () => (name ? providerProps(choice, name) : null),
    // A direct agent belongs to one thread and one attempt.
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [choice, name, attempt, thread],
  );
  const connection = useMemo(() => address && withHeaders(address, headers), [address, headers]);
  const titled = useRef(document.title);
  useEffect(() => {
    document.title = name ? `${name} · ${titled.current}` : titled.current;
  }, [name]);
  return connection;
}
