// SPDX-License-Identifier: Apache-2.0
// Elements. Text of others becomes text and nothing else: there is no innerHTML in this page.

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "text") node.textContent = value;
    else if (name === "class") node.setAttribute("class", value);
    else if (name === "value") node.value = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== undefined && child !== null && child !== false) node.append(child);
  }
  return node;
}

export function el(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

export function svg(tag, props, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);
}

export function replace(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((c) => c !== undefined && c !== null && c !== false));
}

export function badge(kind, text) {
  return el("span", { class: "badge " + kind, text: text || kind });
}

// For those who hear the page.
export function say(text) {
  document.getElementById("said").textContent = text;
}

export function number(n) {
  return n === null || n === undefined || Number.isNaN(n) ? "–" : Number(n).toLocaleString("en");
}

export function bytes(n) {
  if (n === null || n === undefined || Number.isNaN(Number(n))) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  let value = Number(n);
  for (; value >= 1024 && i < units.length - 1; i++) value /= 1024;
  return (i === 0 ? value : value.toFixed(1)) + " " + units[i];
}

export function time(ms) {
  if (!ms || ms < 0) return "–";
  const d = new Date(ms);
  const two = (n) => String(n).padStart(2, "0");
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return s + " s";
  if (s < 3600) return Math.floor(s / 60) + " min " + (s % 60) + " s";
  if (s < 86400) return Math.floor(s / 3600) + " h " + Math.floor((s % 3600) / 60) + " min";
  return Math.floor(s / 86400) + " days " + Math.floor((s % 86400) / 3600) + " h";
}

export function since(ms) {
  return ms > 0 ? el("time", { datetime: new Date(ms).toISOString(), title: time(ms), text: span(Date.now() - ms) + " ago" }) : "–";
}

// A dialog that is gone when it is closed; `build(close)` gives what stands in it.
export function dialog(title, kind, build) {
  const heading = el("h2", { text: title, id: "dialog-title" });
  const box = el("dialog", { class: kind, "aria-labelledby": "dialog-title" }, heading);
  const close = () => box.close();
  box.append(...[build(close)].flat(Infinity).filter(Boolean));
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
  return box;
}

// What the servers did not answer, and why.
export function unanswered(list) {
  if (!list || list.length === 0) return null;
  return el("div", { class: "note" }, list.map((u) => el("div", { text: `${u.member} does not answer ${u.word}: ${u.why}` })));
}
