// Pages with assistant-ui, without a browser: the real `useAgUiRuntime` in React, drawn to nowhere.
// Obeys as `../commands.mjs` says.

import { HttpAgent } from "@ag-ui/client";
import { ExportedMessageRepository } from "@assistant-ui/core";
import { AssistantRuntimeProvider, useAssistantTool } from "@assistant-ui/core/react";
import { fromAgUiMessages, toAgUiMessages, useAgUiInterrupts, useAgUiRuntime, useAgUiSteerAway } from "@assistant-ui/react-ag-ui";
import { createElement, useEffect } from "react";
import { create } from "react-test-renderer";
import { complaints, obey, Sight } from "../commands.mjs";

const CARD = "confirm_changes";

/** The agent of an application that comes back to a thread: `follows` sends the next run to what runs already. */
class Agent extends HttpAgent {
  follows = false;
  inputs = [];

  run(input) {
    this.inputs.push(input);
    const runs = this.url;
    if (this.follows) this.url = `${runs}/connect`;
    this.follows = false;
    try {
      return super.run(input);
    } finally {
      this.url = runs;
    }
  }
}

/** What an application writes to come back to a thread: what was said, and what runs or waits. */
function history(agent, url) {
  return {
    append: async () => {},
    async load() {
      const response = await fetch(`${url}/threads/${encodeURIComponent(agent.threadId)}`, { headers: agent.headers });
      if (response.status === 404) return { messages: [] };
      const { messages, approvals, run, state } = await response.json();
      agent.follows = run?.status === "running";
      if (agent.follows) return { messages: [], unstable_resume: true };
      const interrupts = approvals.map(({ id, call_id, message }) => ({ id, reason: "tool_call", toolCallId: call_id, message }));
      const last = messages.findLast(({ role }) => role === "assistant");
      if (interrupts.length) last.metadata = { custom: { agui: { interrupts } } };
      const shown = fromAgUiMessages(messages).map((message) =>
        interrupts.length && message.id === last.id ? { ...message, status: { type: "requires-action", reason: "interrupt" } } : message,
      );
      return { ...ExportedMessageRepository.fromArray(shown), state };
    },
  };
}

function Chat({ page, agent, adapters, tools }) {
  const onError = (error) => (page.errors.push({ code: error.name, message: error.message }), page.changed());
  const runtime = useAgUiRuntime({ agent, adapters, onError });
  page.runtime = runtime;
  useEffect(() => runtime.thread.subscribe(() => page.changed()), [page, runtime]);
  useEffect(() => page.changed());
  const children = [createElement(Inside, { key: "", page }), ...tools.map((tool) => createElement(Tool, { key: tool.toolName, tool }))];
  return createElement(AssistantRuntimeProvider, { runtime }, children);
}

function Tool({ tool }) {
  useAssistantTool(tool);
  return null;
}

function Inside({ page }) {
  page.interrupts = useAgUiInterrupts();
  page.steerAway = useAgUiSteerAway();
  useEffect(() => page.changed());
  return null;
}

class Page extends Sight {
  errors = [];
  cards = new Map();
  interrupts = [];

  async open({ url, agent = "support", thread, tools = [], headers = {} }) {
    this.agent = new Agent({ url: `${url}/agents/${agent}`, threadId: thread, headers });
    const { load, ...rest } = history(this.agent, url);
    const isLoading = () => this.runtime?.thread.getState().isLoading;
    const loading = this.is(isLoading); // what a person sees at first
    const adapters = { history: { ...rest, load: () => loading.then(load) } };
    create(createElement(Chat, { page: this, agent: this.agent, adapters, tools: tools.map((name) => this.tool(name)) }));
    await loading;
    await this.is(() => !isLoading() || this.agent.inputs.length);
    return this.seen();
  }

  /** A card (answered by a person) or a tool that the page runs by itself. */
  tool(toolName) {
    const about = { toolName, description: toolName, parameters: { type: "object", properties: {} } };
    if (toolName === CARD) return { ...about, type: "human" };
    return { ...about, type: "frontend", execute: async (given) => ({ page: toolName, given }) };
  }

  messages = () => this.runtime.thread.getState().messages;
  idle = () => !this.runtime.thread.getState().isRunning && !this.runtime.thread.getState().isLoading;
  calls = () => this.messages().flatMap(({ content }) => content.filter(({ type }) => type === "tool-call"));

  /** The part of the chat that shows a call. */
  part(id) {
    const at = this.messages().findIndex(({ content }) => content.some(({ toolCallId }) => toolCallId === id));
    return this.runtime.thread.getMessageByIndex(at).getMessagePartByToolCallId(id);
  }

  seen() {
    const open = this.calls().filter(({ toolName, result }) => toolName === CARD && result === undefined);
    const asked = (toolCallId) => this.calls().find((call) => call.toolCallId === toolCallId)?.approval;
    return {
      agents: [],
      messages: toAgUiMessages(this.messages()),
      state: null,
      running: !this.idle(),
      cards: Object.fromEntries(open.map(({ toolCallId, args }) => [toolCallId, args])),
      interrupts: this.interrupts.map((interrupt) => ({ ...interrupt, approval: asked(interrupt.toolCallId) ?? null })),
      errors: this.errors,
      complaints,
    };
  }

  async say({ text }) {
    const before = this.messages().length;
    this.runtime.thread.append({ role: "user", content: [{ type: "text", text }] });
    await this.is(() => this.messages().length > before); // it runs from here on
  }

  /** Another message instead of an answer. */
  steer({ text }) {
    this.steerAway(text);
  }

  respond({ card, answer }) {
    this.part(card).addToolResult(answer);
  }

  /** The buttons of the chat's own approval. */
  resolve({ interrupt, answer }) {
    const { toolCallId } = this.interrupts.find(({ id }) => id === interrupt);
    return this.part(toolCallId).respondToToolApproval(answer);
  }

  stop() {
    this.runtime.thread.cancelRun();
  }

  asked() {
    return this.agent.inputs;
  }

  async until({ sight, text }) {
    const last = () => JSON.stringify(this.messages().at(-1)?.content ?? "");
    await this.is(
      {
        idle: this.idle,
        running: () => !this.idle(),
        cards: () => this.idle() && Object.keys(this.seen().cards).length > 0,
        interrupts: () => this.idle() && this.interrupts.length > 0,
        text: () => last().includes(text),
        errors: () => this.errors.length > 0,
      }[sight],
    );
    return this.seen();
  }
}

await obey(Page);
