// SPDX-License-Identifier: Apache-2.0
// Locks, semaphores, latches and queues: who holds, who waits for whom, and circles of waiting.
import { badge, dialog, el, number, replace, say, since, svg } from "/console/dom.js";
import { get, post, session } from "/console/api.js";
import { hashOf } from "/console/app.js";

const EVERY_MS = 2000;
const R = 34;

// "127.0.0.1 host=a pid=7 program=job since=..." in a few words; whatever else it says as it is.
function whoIs(place) {
  const field = (key) => (place.data.match(new RegExp("\\b" + key + "=(\\S+)")) || [])[1];
  if (field("pid")) return `process ${field("pid")}${field("program") ? " (" + field("program") + ")" : ""} on ${field("host") || "?"}`;
  return place.data || "says nothing of itself";
}

const shortId = (id) => (id.length > 9 ? "…" + id.slice(-6) : id);

// ---- the graph ----

function graph(answer, names) {
  const ids = [...new Set(answer.edges.flatMap((e) => [e.from, e.to]))].slice(0, 40);
  if (ids.length === 0) return null;
  const inCircle = new Set(answer.edges.filter((e) => e.circle).flatMap((e) => [e.from, e.to]));
  const W = 760;
  const H = ids.length > 8 ? 460 : ids.length > 2 ? 320 : 170;
  const at = new Map(ids.map((id, i) => {
    const turn = (2 * Math.PI * i) / ids.length - Math.PI;
    return [id, { x: W / 2 + Math.cos(turn) * (W / 2 - 150), y: H / 2 + Math.sin(turn) * (H / 2 - 62) }];
  }));
  const arrow = (kind) => svg("marker", { id: "arrow" + kind, class: kind, viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto-start-reverse" }, svg("path", { d: "M0,0 L10,5 L0,10 z" }));
  const lines = [];
  for (const e of answer.edges) {
    const a = at.get(e.from);
    const b = at.get(e.to);
    if (!a || !b) continue;
    const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
    const ux = (b.x - a.x) / length;
    const uy = (b.y - a.y) / length;
    const bend = { x: (a.x + b.x) / 2 - uy * 46, y: (a.y + b.y) / 2 + ux * 46 };
    const from = { x: a.x + ux * R, y: a.y + uy * R };
    const to = { x: b.x - ux * (R + 4), y: b.y - uy * (R + 4) };
    const kind = e.circle ? "circle" : "";
    lines.push(svg("path", { class: kind, d: `M${from.x},${from.y} Q${bend.x},${bend.y} ${to.x},${to.y}`, "marker-end": `url(#arrow${kind})` }),
      svg("text", { class: kind, x: (bend.x * 2 + a.x + b.x) / 4, y: (bend.y * 2 + a.y + b.y) / 4 - 6, text: e.lock }));
  }
  const nodes = ids.map((id) => svg("g", { class: inCircle.has(id) ? "circle" : "", transform: `translate(${at.get(id).x},${at.get(id).y})` },
    svg("circle", { r: R }), svg("text", { y: 4, text: shortId(id) }), svg("text", { class: "under", y: R + 16, text: (names.get(id) || "").slice(0, 44) }), svg("title", { text: id })));
  return svg("svg", { class: "graph", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "which session waits for which: " + answer.edges.slice(0, 20).map((e) => `${e.from} for ${e.to} at ${e.lock}`).join("; ") },
    svg("defs", {}, arrow(""), arrow("circle")), lines, nodes);
}

// ---- one of them ----

function act(title, text, name, path, done) {
  const wrong = el("p", { class: "bad", role: "alert" });
  dialog(title, "narrow", (close) => [el("p", { text }), el("p", { class: "mono", text: path }), wrong, el("div", { class: "row end" },
    el("button", { type: "button", class: "plain", text: "Cancel", onclick: close }),
    el("button", { type: "button", class: "danger", text: title, onclick: async () => {
      try {
        await post(name, { path });
        close();
        say("done");
        done();
      } catch (error) {
        wrong.textContent = error.message;
      }
    } }))]);
}

function placeShown(place, reload) {
  const writes = session.user ? {} : { disabled: true, title: "Log in first" };
  return el("li", {},
    el("div", { class: "row" },
      badge(place.orphan ? "orphan" : place.holds ? "holds" : "waits", place.orphan ? "nobody's" : place.holds ? "holds" : "waits"),
      place.reader && badge("", "reads"),
      el("b", { text: place.orphan ? "a node that belongs to no session" : whoIs(place) }),
      el("span", { class: "quiet" }, since(place.since)),
      place.orphan && el("button", { type: "button", class: "small plain", text: "Remove", ...writes, onclick: () => act("Remove", "Nobody releases it: whoever is behind it waits for ever.", "orphan", place.path, reload) }),
      place.holds && !place.orphan && el("button", { type: "button", class: "small plain", text: "Ask to release", ...writes, onclick: () => act("Ask to release", "The holder is asked to give it up; it may do so, or not. Its node's data become __REVOKE__.", "revoke", place.path, reload) })),
    el("p", { class: "why quiet" }, el("span", { class: "mono", text: `session ${place.session}, token ${place.token}` })),
    !place.holds && el("p", { class: "why", text: place.why }));
}

function recipeShown(r, circle, reload) {
  const places = r.places || [];
  const held = places.some((p) => p.holds);
  return el("section", { class: "sheet lock " + (circle ? "circle" : held ? "held" : ""), "data-lock": r.path },
    el("div", { class: "row apart" }, el("h2", {}, el("a", { class: "mono", href: hashOf("tree", r.path), text: r.path })),
      el("span", { class: "row" }, circle && badge("circle", "in a circle"), badge("", r.kind))),
    r.kind === "queue" ? el("p", { text: `${number(r.n_children)} items wait` })
      : r.places ? el("p", { class: "quiet", text: `${number(r.n_holders)} hold${r.n_holders === 1 ? "s" : ""}, ${number(r.n_waiters)} wait${r.n_waiters === 1 ? "s" : ""}` })
        : el("p", { class: "quiet", text: `${number(r.n_children)} places: too many to be listed here` }),
    el("ul", { class: "places" }, places.map((p) => placeShown(p, reload))));
}

// "Why am I waiting?"
function whyBox(answer, names) {
  const waiting = answer.recipes.flatMap((r) => (r.places || []).filter((p) => !p.holds).map((p) => ({ lock: r.path, ...p })));
  if (waiting.length === 0) return null;
  const text = el("p", { id: "why", role: "status" });
  const choice = el("select", { id: "why-session", onchange: tell }, [...new Set(waiting.map((w) => w.session))].map((id) => el("option", { value: id, text: `${id} – ${names.get(id) || ""}` })));
  function tell() {
    const mine = waiting.filter((w) => w.session === choice.value);
    const circle = answer.edges.some((e) => e.circle && e.from === choice.value);
    text.textContent = mine.map((w) => `At ${w.lock}: ${w.why}.`).join(" ") + (circle ? " They wait in a circle: without help nobody goes on." : "");
  }
  tell();
  return el("section", { class: "sheet" }, el("h2", { text: "Why am I waiting?" }), el("div", { class: "row" }, el("label", { for: "why-session", text: "Session" }), choice), text);
}

// ---- the view ----

export function locks(main, first) {
  let top = first;
  let timer = null;
  let isOver = false;
  let seen = "";
  const path = el("input", { id: "locks-path", class: "mono grow", value: first, "aria-label": "Look below this node" });
  const state = el("span", { class: "quiet", role: "status" });
  const box = el("div", { class: "stack" });

  function draw(answer) {
    const names = new Map(answer.recipes.flatMap((r) => (r.places || []).map((p) => [p.session, whoIs(p)])));
    const inCircle = new Set(answer.edges.filter((e) => e.circle).map((e) => e.lock));
    const first = (r) => (inCircle.has(r.path) ? 0 : (r.n_waiters || 0) > 0 ? 1 : 2);
    const sorted = [...answer.recipes].sort((a, b) => first(a) - first(b));
    const picture = graph(answer, names);
    replace(box,
      inCircle.size > 0 && el("div", { class: "alarm", role: "alert", id: "deadlock", text: `A deadlock: sessions wait for each other in a circle at ${[...inCircle].join(" and ")}.` }),
      answer.cut_short && el("p", { class: "note", text: `Not all was looked at (${number(answer.n_looked_at)} nodes): name a smaller part of the tree above.` }),
      answer.n_orphans > 0 && el("p", { class: "note", text: `${number(answer.n_orphans)} places belong to no session: nobody releases them.` }),
      picture && el("section", { class: "sheet" }, el("h2", { text: "Who waits for whom" }), picture),
      whyBox(answer, names),
      sorted.length === 0 ? el("p", { class: "quiet", text: "There is no lock, semaphore, latch or queue below this node." })
        : el("div", { class: "grid" }, sorted.map((r) => recipeShown(r, inCircle.has(r.path), turn))));
  }

  async function turn() {
    clearTimeout(timer);
    try {
      const answer = await get("locks", { path: top });
      if (isOver) return;
      state.textContent = `${number(answer.recipes.length)} found below ${top}`;
      const now = JSON.stringify([answer, session.user]);
      if (now !== seen && !document.querySelector("dialog[open]") && !box.contains(document.activeElement)) {
        seen = now; // what somebody is about to press stays where it is
        draw(answer);
      }
    } catch (error) {
      if (!isOver) state.textContent = error.message;
    }
    if (!isOver) timer = setTimeout(turn, EVERY_MS);
  }

  main.append(el("h1", { text: "Locks" }), el("form", {
    class: "row", onsubmit: (event) => { event.preventDefault(); location.hash = hashOf("locks", path.value || "/"); },
  }, el("label", { for: "locks-path", text: "Below" }), path, el("button", { type: "submit", text: "Look" }), state), el("p", {}), box);
  turn();
  return {
    go: (to) => { top = to; path.value = to; seen = ""; turn(); },
    end: () => { isOver = true; clearTimeout(timer); },
  };
}
