// SPDX-License-Identifier: Apache-2.0
// The bytes of a node as people read them: text, JSON, hexadecimal digits, and what Curator, kazoo
// and Pawl are known to write.

export function asText(data) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(data);
    return /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/.test(text) ? null : text;
  } catch {
    return null;
  }
}

export function asJson(data) {
  const text = asText(data);
  if (text === null || !/^\s*[[{]/.test(text)) return null;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return null;
  }
}

export function asHex(data, limit = 64 * 1024) {
  const lines = [];
  for (let at = 0; at < data.length && at < limit; at += 16) {
    const part = Array.from(data.subarray(at, at + 16));
    const digits = part.map((b) => b.toString(16).padStart(2, "0"));
    const left = digits.slice(0, 8).join(" ");
    const right = digits.slice(8).join(" ");
    const text = part.map((b) => (b >= 32 && b < 127 ? String.fromCharCode(b) : ".")).join("");
    lines.push(at.toString(16).padStart(6, "0") + "  " + (left.padEnd(24) + right).padEnd(49) + " " + text);
  }
  if (data.length > limit) lines.push(`… and ${data.length - limit} bytes more`);
  return lines.join("\n");
}

export function fromHex(text) {
  const digits = text.replace(/\s+/g, "");
  if (digits.length % 2 || /[^0-9a-fA-F]/.test(digits)) return null;
  return Uint8Array.from(digits.match(/../g) || [], (two) => parseInt(two, 16));
}

export function plainHex(data) {
  return Array.from(data, (b) => b.toString(16).padStart(2, "0")).join(" ").replace(/(.{47}) /g, "$1\n");
}

function view(data) {
  return new DataView(data.buffer, data.byteOffset, data.byteLength);
}

// A queue of Curator's: a version, then items, each with a code, a length and its bytes.
function queueItems(data) {
  if (data.length < 8 || view(data).getUint32(0) !== 0x00010001) return null;
  const items = [];
  let at = 4;
  while (at < data.length) {
    const code = data[at];
    if (code === 2) return items.length ? items : null;
    if (code !== 1 || at + 5 > data.length) return null;
    const length = view(data).getUint32(at + 1);
    if (at + 5 + length > data.length) return null;
    const item = data.subarray(at + 5, at + 5 + length);
    items.push(asText(item) ?? asHex(item, 256));
    at += 5 + length;
  }
  return items.length ? items : null;
}

function serviceInstance(text) {
  let json;
  try {
    json = JSON.parse(text);
  } catch {
    return null;
  }
  if (!json || typeof json !== "object" || !("id" in json) || !("address" in json) || !("serviceType" in json)) return null;
  const port = json.port ?? json.sslPort;
  return `an instance of the service ${json.name} (Curator's service discovery): ${json.address}${port ? ":" + port : ""}, ` +
    `id ${json.id}, ${String(json.serviceType).toLowerCase()}` +
    (json.registrationTimeUTC ? `, registered ${new Date(json.registrationTimeUTC).toISOString()}` : "");
}

// A sentence or several, or null. `path` helps where bytes alone say little.
export async function known(path, data) {
  const text = asText(data);
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (text === "__REVOKE__") return "a request to the holder of this place to give the lock up (Curator's Revoker, pawl_lock_revoke)";
  if (/\bhost=\S+ .*\bpid=\d+/.test(text || "")) {
    const field = (key) => (text.match(new RegExp("\\b" + key + "=(\\S+)")) || [])[1];
    return `a place of Pawl's in a queue: process ${field("pid")} (${field("program") || "?"}) on host ${field("host")}`;
  }
  const instance = text !== null && serviceInstance(text);
  if (instance) return instance;
  if (path.startsWith("/zookeeper/quota/") && /count=/.test(text || "")) {
    return name === "zookeeper_limits" ? "the limits of a quota: count is nodes, bytes is data; -1 is none"
      : "what a quota has counted: nodes and bytes of data";
  }
  if (path === "/zookeeper/config") return "the members of the ensemble; the last line is the version of the list";
  if (data.length > 2 && data[0] === 0x1f && data[1] === 0x8b) {
    const inside = await unzipped(data);
    return inside ? "compressed with gzip (Curator's compressed()): \n" + (asJson(inside) ?? asText(inside) ?? asHex(inside, 4096)) : "compressed with gzip, and damaged";
  }
  const items = queueItems(data);
  if (items) return `${items.length} item${items.length > 1 ? "s" : ""} of a queue (Curator's DistributedQueue):\n` + items.join("\n");
  if (data.length > 4 && data[0] === 0xac && data[1] === 0xed) return "an object as Java serialises it (ObjectOutputStream)";
  if (data.length === 4 && text === null) return `a number of 4 bytes, as Curator's SharedCount has it: ${view(data).getInt32(0)}`;
  if (data.length === 8 && text === null) return `a number of 8 bytes, as Curator's DistributedAtomicLong has it: ${view(data).getBigInt64(0)}`;
  return null;
}

async function unzipped(data) {
  const limit = 1 << 20;
  try {
    const reader = new Blob([data]).stream().pipeThrough(new DecompressionStream("gzip")).getReader();
    const parts = [];
    let length = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      parts.push(value);
      length += value.length;
      if (length > limit) {
        await reader.cancel();
        break;
      }
    }
    const whole = new Uint8Array(length);
    let at = 0;
    for (const part of parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  } catch {
    return null;
  }
}

// Lines that went and came: {kind: "same" | "out" | "in", text}. Long texts are compared whole.
export function diff(before, after) {
  const a = before.split("\n");
  const b = after.split("\n");
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const mid = longest(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  const same = (lines) => lines.map((text) => ({ kind: "same", text }));
  return [...same(a.slice(0, head)), ...mid, ...same(a.slice(a.length - tail))];
}

function longest(a, b) {
  if (a.length * b.length > 1e6) {
    return [...a.map((text) => ({ kind: "out", text })), ...b.map((text) => ({ kind: "in", text }))];
  }
  const table = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i][j] = a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    }
  }
  const out = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push({ kind: "same", text: a[i++] });
      j++;
    } else if (i < a.length && (j === b.length || table[i + 1][j] >= table[i][j + 1])) {
      out.push({ kind: "out", text: a[i++] });
    } else {
      out.push({ kind: "in", text: b[j++] });
    }
  }
  return out;
}
