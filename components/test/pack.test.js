import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const PACKAGE = fileURLToPath(new URL("..", import.meta.url));

const PROGRAM = `
import { createCard, defineAguiGate, fromApproval, type Ask } from "agui-gate-components";
import { formatLeft } from "agui-gate-components/core/countdown.js";
import { ConfirmCard } from "agui-gate-components/elements/confirm-card.js";

defineAguiGate();
const ask: Ask = fromApproval({ id: "apr_1", call_id: "c1", tool: "refund", arguments: { order_id: "A1" } });
const card = createCard(ask, { onDecide: ({ approved }) => console.log(ask.tool, approved, formatLeft(5), typeof ConfirmCard) });
card.approve();
`;

test("what `npm pack` makes can be used, with its types", async () => {
  const folder = await mkdtemp(join(tmpdir(), "agui-gate-pack-"));
  const modules = join(folder, "node_modules");
  const { stdout } = await run("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: PACKAGE });
  await mkdir(join(modules, "agui-gate-components"), { recursive: true });
  await run("tar", ["-xzf", join(folder, stdout.trim().split("\n").at(-1) ?? ""), "--strip-components=1", "-C", join(modules, "agui-gate-components")]);
  for (const name of ["lit", "lit-element", "lit-html", "@lit", "@lit-labs", "@types"]) await symlink(join(PACKAGE, "node_modules", name), join(modules, name));
  await writeFile(join(folder, "package.json"), '{"type": "module"}');
  await writeFile(join(folder, "use.ts"), PROGRAM);
  const options = ["--strict", "--module", "nodenext", "--target", "es2022", "--lib", "es2023,dom,dom.iterable", "--types", "node"];
  await run(process.execPath, [join(PACKAGE, "node_modules/typescript/bin/tsc"), ...options, "use.ts"], { cwd: folder }).catch(({ stdout: said }) => assert.fail(said));
  const used = await run(process.execPath, ["use.js"], { cwd: folder });
  assert.equal(used.stdout, "refund true 5 s function\n");
  await rm(folder, { recursive: true });
});
