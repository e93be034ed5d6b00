/** JSON Patch (RFC 6902), as STATE_DELTA and ACTIVITY_DELTA use it. Pure: the document given is left alone. */

/** Apply `operations`; throws `RangeError` when one of them can't be applied. */
export function applyPatch(document, operations) {
  return operations.reduce(applyOne, document);
}

function applyOne(document, { op, path, from, value }) {
  switch (op) {
    case "add":
    case "replace":
      return write(document, parse(path), value, op === "add");
    case "remove":
      return remove(document, parse(path));
    case "copy":
      return write(document, parse(path), lookUp(document, parse(from)), true);
    case "move":
      return write(remove(document, parse(from)), parse(path), lookUp(document, parse(from)), true);
    case "test":
      if (JSON.stringify(lookUp(document, parse(path))) === JSON.stringify(value)) return document;
      throw new RangeError(`test failed at ${path}`);
    default:
      throw new RangeError(`unknown operation ${op}`);
  }
}

const parse = (pointer) =>
  pointer
    .split("/")
    .slice(1)
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));

function lookUp(node, [head, ...tail]) {
  if (head === undefined) return node;
  if (node === null || typeof node !== "object" || !Object.hasOwn(node, head)) throw new RangeError(`no ${head}`);
  return lookUp(node[head], tail);
}

/** A copy of `node` where `change(copy, key)` was applied to the container that the path leads to. */
function edit(node, [head, ...tail], change) {
  if (node === null || typeof node !== "object") throw new RangeError(`no ${head}`);
  const copy = Array.isArray(node) ? [...node] : { ...node };
  if (tail.length === 0) change(copy, head);
  else own(copy, head, edit(lookUp(node, [head]), tail, change));
  return copy;
}

// Assigning to "__proto__" would change the prototype instead of adding a key.
function own(container, key, value) {
  Object.defineProperty(container, key, { value, writable: true, enumerable: true, configurable: true });
}

function write(document, path, value, insert) {
  if (path.length === 0) return value;
  return edit(document, path, (container, key) => {
    if (!Array.isArray(container)) own(container, key, value);
    else if (key === "-") container.push(value);
    else container.splice(Number(key), insert ? 0 : 1, value);
  });
}

function remove(document, path) {
  if (path.length === 0) return null;
  lookUp(document, path);
  return edit(document, path, (container, key) => {
    if (Array.isArray(container)) container.splice(Number(key), 1);
    else delete container[key];
  });
}
