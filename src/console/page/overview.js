// SPDX-License-Identifier: Apache-2.0
// Members, who leads them, how far behind each is, and what they do, as it changes.
import { badge, bytes, el, number, replace, svg, time } from "/console/dom.js";
import { get } from "/console/api.js";
import { banner } from "/console/app.js";

const EVERY_MS = 1000;
const KEPT = 60;
const H = 310;

function roleOf(m) {
  if (!m.known) return "unknown";
  return m.error || !m.mode ? "down" : m.mode === "read-only" ? "unknown" : m.mode;
}

const leads = (m) => roleOf(m) === "leader" || roleOf(m) === "standalone";

// "0x100000005" as its epoch and its number.
function parts(zxid) {
  if (!zxid) return null;
  const n = BigInt(zxid);
  return { epoch: Number(n >> 32n), counter: Number(n & 0xffffffffn) };
}

function lagOf(m, members) {
  const leader = members.find(leads);
  const mine = parts(m.zxid);
  const first = leader && parts(leader.zxid);
  if (!mine || !first || m === leader) return null;
  return mine.epoch === first.epoch ? Math.max(0, first.counter - mine.counter) : Infinity;
}

// ---- the picture: the leader above, the others in a row below, and they move when that changes ----

function placesOf(members, W) {
  const leader = members.findIndex(leads);
  const others = members.map((_, i) => i).filter((i) => i !== leader);
  const places = [];
  if (leader >= 0) places[leader] = { x: W / 2, y: others.length ? 54 : H / 2 - 24 };
  others.forEach((i, at) => {
    places[i] = { x: (W * (at + 1)) / (others.length + 1), y: leader >= 0 ? 208 : H / 2 - 24 };
  });
  return places;
}

class Picture {
  constructor() {
    this.links = svg("g", {});
    this.nodes = svg("g", {});
    this.drawn = new Map();
    this.box = svg("svg", { class: "picture", role: "img", "aria-label": "members and their links" }, this.links, this.nodes);
  }

  node(m) {
    if (!this.drawn.has(m.name)) {
      const group = svg("g", { class: "member" },
        svg("circle", { class: "body", r: 44 }), svg("text", { class: "in", y: 5 }),
        svg("text", { class: "name", y: 65 }), svg("text", { class: "under", y: 82 }));
      this.nodes.append(group);
      this.drawn.set(m.name, group);
    }
    return this.drawn.get(m.name);
  }

  draw(members) {
    const W = Math.max(this.box.clientWidth < 500 ? 400 : 640, members.length * 130); // letters stay readable on a small screen
    const places = placesOf(members, W);
    const leader = members.findIndex(leads);
    this.box.setAttribute("viewBox", `0 0 ${W} ${H}`);
    for (const [name, group] of this.drawn) {
      if (!members.some((m) => m.name === name)) {
        group.remove();
        this.drawn.delete(name);
      }
    }
    members.forEach((m, i) => {
      const group = this.node(m);
      const zxid = parts(m.zxid);
      const lag = lagOf(m, members);
      group.setAttribute("class", "member " + roleOf(m));
      group.style.transform = `translate(${places[i].x}px, ${places[i].y}px)`;
      group.querySelector(".in").textContent = roleOf(m);
      group.querySelector(".name").textContent = m.name;
      group.querySelector(".under").textContent = roleOf(m) === "down" ? m.error || "" : zxid
        ? `epoch ${zxid.epoch}, zxid ${zxid.counter}` + (lag ? `, ${lag === Infinity ? "an epoch" : number(lag)} behind` : "") : "";
    });
    const lines = members.map((m, i) => (i === leader || leader < 0 ? null : svg("line", {
      class: "link " + (roleOf(m) === "down" || roleOf(m) === "unknown" ? "gone" : "alive"),
      x1: places[leader].x, y1: places[leader].y, x2: places[i].x, y2: places[i].y,
    })));
    replace(this.links, lines);
    this.box.setAttribute("aria-label", members.map((m) => `${m.name} is ${roleOf(m)}`).join("; "));
  }
}

// ---- figures ----

function spark(values) {
  const top = Math.max(1, ...values);
  const points = values.map((v, i) => `${(i * 100) / (KEPT - 1)},${40 - (v / top) * 36}`);
  if (points.length < 2) return svg("svg", { class: "spark" });
  return svg("svg", { class: "spark", viewBox: "0 0 100 42", preserveAspectRatio: "none", role: "img", "aria-label": `requests each second, ${Math.round(values.at(-1))} now, ${Math.round(top)} at most` },
    svg("path", { d: `M${points[0].split(",")[0]},42 L${points.join(" L")} L${points.at(-1).split(",")[0]},42 Z` }),
    svg("polyline", { points: points.join(" ") }));
}

function fact(name, value) {
  return [el("dt", { text: name }), el("dd", {}, value)];
}

function card(m, members, history) {
  const zxid = parts(m.zxid);
  const lag = lagOf(m, members);
  const latency = (m.latency || "").split("/");
  const mntr = m.mntr || {};
  const rates = history.rates;
  return el("section", { class: "sheet", "data-member": m.name },
    el("div", { class: "row apart" }, el("h2", { class: "mono", text: m.name + (m.id !== null ? ` · ${m.id}` : "") }), badge(roleOf(m), roleOf(m))),
    m.error ? el("p", { class: "bad", text: m.error }) : el("dl", { class: "facts" },
      fact("zxid", el("span", { class: "mono", text: m.zxid || "–" })),
      zxid && fact("which is", `number ${number(zxid.counter)} of epoch ${zxid.epoch}`),
      lag !== null && fact("behind", lag === Infinity ? "an older epoch" : lag === 0 ? "nothing" : number(lag) + " transactions"),
      fact("rate", rates.length ? number(Math.round(rates.at(-1))) + " requests each second" : "…"),
      fact("latency", latency.length === 3 ? `${Number(latency[1]).toFixed(2)} ms, at most ${latency[2]} ms` : "–"),
      fact("connections", number(m.connections)), fact("under way", number(m.outstanding) + " requests"),
      fact("nodes", number(m.nodes)),
      mntr.zk_approximate_data_size && fact("data", bytes(mntr.zk_approximate_data_size)),
      mntr.zk_ephemerals_count && fact("ephemeral", number(mntr.zk_ephemerals_count)),
      mntr.zk_watch_count && fact("watches", number(mntr.zk_watch_count)),
      mntr.zk_global_sessions && fact("sessions", number(mntr.zk_global_sessions)),
      mntr.zk_open_file_descriptor_count && fact("open files", `${number(mntr.zk_open_file_descriptor_count)} of ${number(mntr.zk_max_file_descriptor_count)}`),
      mntr.zk_uptime && fact("up", Math.floor(Number(mntr.zk_uptime) / 1000) + " s"),
      m.version && fact("version", m.version.split(",")[0])),
    !m.error && spark(rates));
}

function totals(members, histories) {
  const up = members.filter((m) => !m.error && m.mode);
  const sum = (field) => up.reduce((n, m) => n + (m[field] || 0), 0);
  const rate = [...histories.values()].reduce((n, h) => n + (h.rates.at(-1) || 0), 0);
  const leader = members.find(leads);
  const epoch = leader && parts(leader.zxid);
  const one = (value, text) => el("div", {}, el("b", { text: value }), el("span", { text }));
  return el("div", { class: "big" },
    one(`${up.length} of ${members.length}`, members.length === 1 ? "server answers" : "members answer"),
    one(epoch ? epoch.epoch : "–", "epoch"), one(number(Math.round(rate)), "requests each second"),
    one(number(sum("connections")), "connections"), one(leader ? number(leader.nodes) : "–", "nodes"));
}

// ---- the view ----

export function overview(main) {
  const picture = new Picture();
  const cards = el("div", { class: "grid" });
  const sums = el("div", {});
  const news = el("ol", { class: "log", "aria-live": "polite", reversed: true });
  const histories = new Map();
  const roles = new Map();
  let timer = null;
  let isOver = false;

  function tell(text) {
    news.prepend(el("li", {}, el("span", { class: "quiet", text: time(Date.now()).slice(11) + " " }), text));
    while (news.children.length > 20) news.lastChild.remove();
  }

  function note(m, at) {
    const h = histories.get(m.name) || { rates: [] };
    if (h.at !== undefined && at > h.at && m.received >= h.received && !m.error) {
      h.rates.push(((m.received - h.received) * 1000) / (at - h.at));
      if (h.rates.length > KEPT) h.rates.shift();
    }
    if (!m.error && at !== h.at) {
      h.at = at;
      h.received = m.received;
    }
    histories.set(m.name, h);
    const role = roleOf(m);
    if (roles.has(m.name) && roles.get(m.name) !== role) tell(`${m.name} was ${roles.get(m.name)} and is ${role}`);
    roles.set(m.name, role);
  }

  async function turn() {
    try {
      const answer = await get("overview");
      if (isOver) return;
      banner("");
      answer.members.forEach((m) => note(m, answer.at));
      picture.draw(answer.members);
      replace(sums, totals(answer.members, histories));
      replace(cards, answer.members.map((m) => card(m, answer.members, histories.get(m.name))));
    } catch (error) {
      if (!isOver) banner("The console does not answer: " + error.message);
    }
    if (!isOver) timer = setTimeout(turn, EVERY_MS);
  }

  main.append(el("h1", { text: "Overview" }),
    el("div", { class: "stage" },
      el("section", { class: "sheet" }, picture.box),
      el("section", { class: "sheet" }, el("h2", { text: "Now" }), sums, el("h2", { text: "What has changed" }), news)),
    cards);
  main.classList.add("stack");
  turn();
  return { end: () => { isOver = true; clearTimeout(timer); main.classList.remove("stack"); } };
}
