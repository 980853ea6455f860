// SPDX-License-Identifier: Apache-2.0
// Sessions, watches, quotas and configuration: tables that can be sorted and filtered.
import { el, number, replace, since, unanswered } from "/console/dom.js";
import { get } from "/console/api.js";
import { hashOf } from "/console/app.js";

// columns: {name, value(row), show(row)?, n?}. Value sorts and is looked at by the filter.
function table(columns, rows, empty) {
  let by = 0;
  let down = false;
  let wanted = "";
  const body = el("tbody", {});
  const filter = el("input", { type: "search", placeholder: "Filter", "aria-label": "Filter the rows", class: "grow", oninput: () => { wanted = filter.value.toLowerCase(); draw(); } });
  const count = el("span", { class: "quiet" });
  const heads = columns.map((c, i) => el("th", { scope: "col", class: c.n && "n" }, el("button", {
    type: "button", text: c.name, onclick: () => { down = by === i ? !down : false; by = i; draw(); },
  })));

  function draw() {
    const value = columns[by].value;
    const chosen = rows.filter((r) => wanted === "" || columns.some((c) => String(c.value(r)).toLowerCase().includes(wanted)));
    chosen.sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) * (down ? -1 : 1));
    heads.forEach((h, i) => h.setAttribute("aria-sort", i !== by ? "none" : down ? "descending" : "ascending"));
    replace(body, chosen.slice(0, 500).map((r) => el("tr", {}, columns.map((c) => el("td", { class: c.n ? "n" : c.path ? "path mono" : undefined }, c.show ? c.show(r) : String(c.value(r) ?? "–"))))));
    count.textContent = chosen.length > 500 ? `the first 500 of ${number(chosen.length)}` : number(chosen.length);
  }

  draw();
  if (rows.length === 0) return el("p", { class: "quiet", text: empty });
  return el("div", {}, el("div", { class: "row" }, filter, count), el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, heads)), body)));
}

function page(main, title, read) {
  const box = el("div", { class: "sheet" }, el("p", { class: "quiet", text: "…" }));
  const again = el("button", { type: "button", class: "plain", text: "Read again", onclick: () => load() });
  let isOver = false;
  async function load() {
    again.disabled = true;
    try {
      const shown = await read();
      if (!isOver) replace(box, shown);
    } catch (error) {
      replace(box, el("p", { class: "bad", text: error.message }));
    }
    again.disabled = false;
  }
  main.append(el("div", { class: "row apart" }, el("h1", { text: title }), again), box);
  load();
  return { end: () => { isOver = true; } };
}

const link = (path) => el("a", { class: "mono", href: hashOf("tree", path), text: path });

export function sessions(main) {
  return page(main, "Sessions", async () => {
    const answer = await get("sessions");
    const rows = answer.sessions;
    const seen = new Set(rows.map((r) => r.session));
    for (const id of Object.keys(answer.ephemerals)) { // no member says who is linked with it
      if (!seen.has(id)) rows.push({ session: id, client: "–", member: "–", since: 0 });
    }
    const owned = (r) => answer.ephemerals[r.session] || [];
    return [unanswered(answer.unanswered), table([
      { name: "session", value: (r) => r.session, show: (r) => el("span", { class: "mono", text: r.session }) },
      { name: "address", value: (r) => r.client }, { name: "at member", value: (r) => r.member },
      { name: "connected", value: (r) => r.since || 0, show: (r) => since(r.since) },
      { name: "timeout", n: true, value: (r) => r.timeout ?? 0, show: (r) => (r.timeout ? r.timeout / 1000 + " s" : "–") },
      { name: "requests", n: true, value: (r) => r.received ?? 0, show: (r) => number(r.received) },
      { name: "queued", n: true, value: (r) => r.queued ?? 0, show: (r) => number(r.queued) },
      { name: "ephemeral nodes", path: true, value: (r) => owned(r).length, show: (r) => (owned(r).length === 0 ? "0" : el("details", {}, el("summary", { text: number(owned(r).length) }), owned(r).slice(0, 50).map((p) => el("div", {}, link(p))))) },
    ], rows, "No session is known here.")];
  });
}

export function watches(main) {
  return page(main, "Watches", async () => {
    const answer = await get("watches");
    return [unanswered(answer.unanswered), table([
      { name: "path", path: true, value: (r) => r.path, show: (r) => link(r.path) },
      { name: "at member", value: (r) => r.member },
      { name: "sessions", n: true, value: (r) => r.sessions.length },
      { name: "who", path: true, value: (r) => r.sessions.join(" "), show: (r) => r.sessions.slice(0, 20).join(" ") + (r.sessions.length > 20 ? " …" : "") },
    ], answer.watches, "Nobody watches anything.")];
  });
}

// "count=5,bytes=-1;byteHardLimit=10" as {count: 5, ...}
function pairs(text) {
  return Object.fromEntries((text || "").trim().split(/[,;]/).filter(Boolean).map((p) => p.split("=")));
}

export function quotas(main) {
  return page(main, "Quotas", async () => {
    const answer = await get("quotas");
    const rows = answer.quotas.map((q) => ({ path: q.path, limits: pairs(q.limits), used: pairs(q.used) }));
    const of = (used, ...limits) => {
      const limit = limits.find((l) => l !== undefined && Number(l) >= 0);
      if (limit === undefined) return number(used) + ", no limit";
      return el("span", { class: Number(used) > Number(limit) ? "bad" : undefined, text: `${number(used)} of ${number(limit)}` });
    };
    return table([
      { name: "path", path: true, value: (r) => r.path, show: (r) => link(r.path) },
      { name: "nodes", value: (r) => Number(r.used.count), show: (r) => of(r.used.count, r.limits.count, r.limits.countHardLimit) },
      { name: "bytes", value: (r) => Number(r.used.bytes), show: (r) => of(r.used.bytes, r.limits.bytes, r.limits.byteHardLimit) },
      { name: "hard", value: (r) => (Number(r.limits.countHardLimit) >= 0 || Number(r.limits.byteHardLimit) >= 0 ? "yes" : "no") },
    ], rows, "No node has a quota.");
  });
}

export function configuration(main) {
  return page(main, "Configuration", async () => {
    const answer = await get("configuration");
    const names = [...new Set(answer.members.flatMap((m) => Object.keys(m.values)))];
    const differs = (name) => new Set(answer.members.map((m) => m.values[name])).size > 1;
    return [unanswered(answer.unanswered),
      el("h2", { text: "Members" }),
      answer.ensemble ? el("pre", { class: "data", text: answer.ensemble }) : el("p", { class: "quiet", text: "A server that stands alone." }),
      el("h2", { text: "What is in effect" }),
      table([
        { name: "key", value: (n) => n, show: (n) => el("code", { text: n }) },
        ...answer.members.map((m) => ({ name: m.member, path: true, value: (n) => m.values[n] ?? "" })),
        ...(answer.members.length > 1 ? [{ name: "the same everywhere", value: (n) => (differs(n) ? "no" : "yes") }] : []),
      ], names, "No server has told its configuration.")];
  });
}
