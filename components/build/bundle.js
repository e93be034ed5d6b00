/**
 * Makes `dist/`: the components as one module (`agui-gate.js`, with lit inside), and the built-in page with its modules
 * and its styles as one file each (`page/`). Nobody commits it: a wheel has it, and a checkout where it was made.
 *
 * `dist/made.json` says of which sources it was made. The server takes it only as long as these are what is there.
 */
import { createHash } from "node:crypto";
import { copyFile, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";
import { build } from "esbuild";

const COMPONENTS = fileURLToPath(new URL("..", import.meta.url));
const PAGE = resolve(COMPONENTS, "../server/agui_gate/extras/page/files");
const DIST = join(COMPONENTS, "dist");
const FOLDERS = ["core", "elements", "vendor"];
const LICENCE = "// agui-gate, MIT licence. Contains lit, (c) Google LLC, BSD-3-Clause.";

/**
 * @typedef {import("esbuild").BuildOptions} BuildOptions
 * @type {BuildOptions}
 */
const SHARED = {
  absWorkingDir: COMPONENTS,
  bundle: true,
  format: "esm",
  target: ["chrome111", "firefox115", "safari16.4"],
  minify: true,
  legalComments: "none",
};

/** Pages: what is made of which module, and the sheet of its styles. @type {[string, string, string][]} */
const PAGES = [["index.html", "app.js", "styles.css"], ["approvals.html", "approvals.js", "approvals.css"], ["admin.html", "admin.js", "admin.css"]];

/** @type {import("esbuild").Plugin} `./components/…` in the page's modules is where the server serves the components */
const asServed = {
  name: "as-served",
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/components\/vendor\/lit\.js$/ }, () => ({ path: join(COMPONENTS, "build/lit.js") })); // one copy
    onResolve({ filter: /^\.\/components\// }, ({ path }) => ({ path: join(COMPONENTS, path.slice("./components/".length)) }));
  },
};

/** @returns {Promise<[string, string][]>} the sources: their names and where they are */
async function sources() {
  /** @type {[string, string][]} */
  const found = [];
  const add = async (/** @type {string} */ folder, /** @type {string} */ prefix, /** @type {RegExp} */ wanted) => {
    for (const { name } of (await readdir(folder, { withFileTypes: true })).filter((one) => one.isFile()))
      if (wanted.test(name)) found.push([`${prefix}/${name}`, join(folder, name)]);
  };
  await add(COMPONENTS, "components", /\.js$/);
  for (const name of FOLDERS) await add(join(COMPONENTS, name), `components/${name}`, /\.js$/);
  await add(PAGE, "page", /./);
  return found.sort(([one], [other]) => (one < other ? -1 : 1));
}

/** As `agui_gate.extras.components.bundle.hash_of`. */
async function hashOfSources() {
  const hash = createHash("sha256");
  for (const [name, path] of await sources()) {
    const text = await readFile(path);
    hash.update(`${name}\0${text.length}\0`).update(text);
  }
  return hash.digest("hex");
}

async function bundleComponents() {
  await build({ ...SHARED, entryPoints: ["agui-gate.js"], outdir: DIST, banner: { js: LICENCE } });
  await copyFile(join(COMPONENTS, "auto.js"), join(DIST, "auto.js")); // what it imports is beside it
}

async function bundlePage() {
  const page = join(DIST, "page");
  for (const name of ["theme.js", "favicon.svg"]) await copyFile(join(PAGE, name), join(page, name));
  await Promise.all(PAGES.map(([name, script, styles]) => bundleOne(page, name, script, styles)));
}

/** @param {string} page @param {string} name @param {string} script @param {string} sheetName */
async function bundleOne(page, name, script, sheetName) {
  const index = await readFile(join(PAGE, name), "utf8");
  const sheet = /<link rel="stylesheet" href="page\/([\w.]+)">\s*/g;
  const styles = [...index.matchAll(sheet)].map(([, name]) => `@import "./${name}";`).join("\n");
  await build({ ...SHARED, entryPoints: [join(PAGE, script)], outdir: page, plugins: [asServed], banner: { js: LICENCE } });
  await build({ ...SHARED, stdin: { contents: styles, resolveDir: PAGE, loader: "css" }, outfile: join(page, sheetName) });
  const [head, ...rest] = index.split(sheet).filter((_, at) => at % 2 === 0);
  await writeFile(join(page, name), `${head}<link rel="stylesheet" href="page/${sheetName}">\n    ${rest.join("")}`);
}

/** @param {Buffer} text */
const brotli = (text) => brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: text.length } });

await rm(DIST, { recursive: true, force: true });
await mkdir(join(DIST, "page"), { recursive: true });
const made = await hashOfSources();
await Promise.all([bundleComponents(), bundlePage()]);
for (const name of ["agui-gate.js", ...PAGES.flatMap(([, script, styles]) => [`page/${script}`, `page/${styles}`])]) {
  const text = await readFile(join(DIST, name));
  await writeFile(join(DIST, `${name}.br`), brotli(text)); // a tenth smaller than what the server compresses itself
}
await writeFile(join(DIST, "made.json"), JSON.stringify({ sources: made }));
