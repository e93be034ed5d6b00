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
import { build, transform } from "esbuild";
import { minify } from "terser";
import { lean } from "./lean.js";

const COMPONENTS = fileURLToPath(new URL("..", import.meta.url));
const PAGE = resolve(COMPONENTS, "../server/agui_gate/extras/page/files");
const DIST = join(COMPONENTS, "dist");
const FOLDERS = ["core", "elements", "vendor"];
/** The browser compiles it while it comes, not function by function when the first cards are drawn. */
const EAGER = "//# allFunctionsCalledOnLoad\n";
const LICENCE = "// agui-gate, MIT. With lit, (c) Google LLC, BSD-3-Clause.";

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

/**
 * None of the functions is made with `new`, no getter has an effect, and `String(…)` is of nothing that `+ ""` reads otherwise.
 * @type {import("terser").CompressOptions}
 */
const COMPRESS = { passes: 3, unsafe: true, unsafe_arrows: true, keep_fargs: false, pure_getters: true };
/** What lit calls its own parts by, which nobody else sees. @type {import("terser").MangleOptions} */
const MANGLE = { properties: { regex: /^_\$(A[A-Z]|litPart\$)$/ } };

/** Pages: the modules of which each is made, and the sheet of its styles. @type {[string, string[], string][]} */
const PAGES = [["index.html", ["app.js"], "styles.css"], ["desk.html", ["approvals.js", "admin.js"], "desk.css"]];

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

/** Of attributes in templates: values that need no quotes. */
const UNQUOTED = /(?<=\w)="([\w-]+)"(?=[ >])/g;

/** @type {import("esbuild").Plugin} What `elements/html.js` does in the browser, and the styles' spaces: done here (`pack`). */
const packed = {
  name: "packed",
  setup({ onLoad, onResolve, resolve: find }) {
    onResolve({ filter: /^\.\/html\.js$/ }, ({ resolveDir }) => find("lit/html.js", { resolveDir, kind: "import-statement" }));
    onLoad({ filter: /elements\/[\w-]*style\.js$/ }, async ({ path }) => ({ contents: await packStyles(await import(path)) }));
    onLoad({ filter: /components\/elements\/.*\.js$/ }, async ({ path }) => ({ contents: (await readFile(path, "utf8")).replace(UNQUOTED, "=$1") }));
  },
};

/** @type {import("esbuild").Plugin} A module that only some pages read stays one: it is beside the bundle. */
const apart = {
  name: "apart",
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/german\.js$/ }, ({ path, kind }) => (kind === "dynamic-import" ? { path, external: true } : undefined));
  },
};

/** @param {Record<string, string>} sheets what a module exports: styles */
async function packStyles(sheets) {
  const lines = Object.entries(sheets).map(async ([name, styles]) => {
    const { code } = await transform(styles, { loader: "css", minify: true, target: SHARED.target });
    const short = code.trim().replace(/(--_[\w-]+:) /g, "$1").replaceAll(", ", ","); // variables are left as they are written
    return `export const ${name} = ${JSON.stringify(short)};`;
  });
  return (await Promise.all(lines)).join("\n");
}

/**
 * What browsers load of each of these, without what only readers of the sources need.
 * @param {string[]} entryPoints
 * @param {string} folder
 * @param {import("esbuild").Plugin[]} plugins
 * @param {string} [head]
 */
async function bundleModules(entryPoints, folder, plugins, head = "") {
  const { outputFiles } = await build({ ...SHARED, entryPoints, outdir: folder, entryNames: "[name]", write: false, plugins });
  for (const { path, text } of outputFiles) {
    const { code = "" } = await minify(text, { module: true, ecma: 2020, compress: COMPRESS, mangle: MANGLE });
    await writeFile(path, `${head}${LICENCE}\n${shorten(code)}`);
  }
}

/** @param {string} code line breaks with an indent are in templates alone, and `--_…` are the styles' own variables */
function shorten(code) {
  const names = [...new Set(code.match(/--_[\w-]+/g))];
  return code.replace(/\n +/g, "").replace(/--_[\w-]+/g, (name) => `--_${names.indexOf(name).toString(36)}`);
}

async function bundleComponents() {
  await bundleModules(["agui-gate.js", "core/german.js"].map((name) => join(COMPONENTS, name)), DIST, [packed, apart, lean], EAGER);
  await copyFile(join(COMPONENTS, "auto.js"), join(DIST, "auto.js")); // what it imports is beside it
}

async function bundlePage() {
  const page = join(DIST, "page");
  await copyFile(join(DIST, "german.js"), join(page, "german.js"));
  for (const name of ["theme.js", "early.js", "favicon.svg"]) await copyFile(join(PAGE, name), join(page, name));
  await Promise.all(PAGES.map(([name, scripts, styles]) => bundleOne(page, name, scripts, styles)));
}

/** @param {string} page @param {string} name @param {string[]} scripts @param {string} sheetName */
async function bundleOne(page, name, scripts, sheetName) {
  const index = await readFile(join(PAGE, name), "utf8");
  const sheet = /<link rel="stylesheet" href="page\/([\w.]+)">\s*/g;
  const styles = [...index.matchAll(sheet)].map(([, name]) => `@import "./${name}";`).join("\n");
  for (const script of scripts) await bundleModules([join(PAGE, script)], page, [asServed, packed, apart]);
  await build({ ...SHARED, stdin: { contents: styles, resolveDir: PAGE, loader: "css" }, outfile: join(page, sheetName) });
  const [head, ...rest] = index.split(sheet).filter((_, at) => at % 2 === 0);
  await writeFile(join(page, name), `${head}<link rel="stylesheet" href="page/${sheetName}">\n    ${rest.join("")}`);
}

/** @param {Buffer} text */
const brotli = (text) => brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: text.length } });

await rm(DIST, { recursive: true, force: true });
await mkdir(join(DIST, "page"), { recursive: true });
const made = await hashOfSources();
await bundleComponents();
await bundlePage();
for (const name of ["agui-gate.js", "german.js", "page/german.js", ...PAGES.flatMap(([, scripts, styles]) => [...scripts, styles].map((one) => `page/${one}`))]) {
  const text = await readFile(join(DIST, name));
  await writeFile(join(DIST, `${name}.br`), brotli(text)); // a tenth smaller than what the server compresses itself
}
await writeFile(join(DIST, "made.json"), JSON.stringify({ sources: made }));
