// SPDX-License-Identifier: Apache-2.0
// Nodes: children on the left, what is in the node on the right.
import { badge, bytes, dialog, el, number, replace, say, since, time } from "/console/dom.js";
import { fromBase64, get, post, put, remove, session, toBase64 } from "/console/api.js";
import { hashOf } from "/console/app.js";
import { List } from "/console/list.js";
import { asHex, asJson, asText, diff, fromHex, known, plainHex } from "/console/formats.js";

const join = (path, name) => (path === "/" ? "/" + name : path + "/" + name);

function crumbs(path) {
  const parts = path.split("/").filter(Boolean);
  const links = [el("a", { href: hashOf("tree", "/"), text: "/" })];
  parts.forEach((name, i) => {
    if (i > 0) links.push(el("span", { class: "quiet", text: "/" }));
    links.push(el("a", { href: hashOf("tree", "/" + parts.slice(0, i + 1).join("/")), text: name, "aria-current": i === parts.length - 1 ? "page" : undefined }));
  });
  return el("nav", { class: "crumbs mono", "aria-label": "Path" }, links);
}

// ---- in words ----

function kindOf(stat) {
  const owner = BigInt(stat.ephemeral_owner);
  if (owner === 0n) return "a persistent node";
  if (owner === 0x8000000000000000n) return "a container: it goes some time after its last child";
  if (owner >> 56n === 0xffn) return `a node with a time to live of ${Number(owner & 0xffffffffffn) / 1000} s`;
  return `an ephemeral node of session ${stat.ephemeral_owner}: it goes when that ends`;
}

const changed = (n) => (n === 0 ? "never changed" : n === 1 ? "changed once" : `changed ${number(n)} times`);

function statInWords(stat) {
  const fact = (name, ...value) => [el("dt", { text: name }), el("dd", {}, value)];
  return el("dl", { class: "facts" },
    fact("kind", kindOf(stat)),
    fact("made", since(stat.ctime), ` – ${time(stat.ctime)}, by transaction ${stat.czxid}`),
    fact("data", `${bytes(stat.data_length)}, ${changed(stat.version)}`, stat.version > 0 ? ["; last ", since(stat.mtime), ` – ${time(stat.mtime)}, by ${stat.mzxid}`] : null),
    fact("children", `${number(stat.n_children)}; the list ${changed(stat.cversion)}` + (stat.cversion > 0 ? `, last by ${stat.pzxid}` : "")),
    fact("ACL", changed(stat.aversion)));
}

const PERMS = { c: "create children", d: "delete children", r: "read", w: "write", a: "change the ACL" };

function aclInWords(acl) {
  if (!acl) return el("p", { class: "quiet", text: "The ACL may not be read." });
  return el("ul", {}, acl.map((a) => {
    const who = a.scheme === "world" ? "Anybody" : a.scheme === "digest" ? `User ${a.id.split(":")[0]} (digest)`
      : a.scheme === "ip" ? `Whoever comes from ${a.id}` : a.scheme === "x509" ? `Who has the certificate ${a.id}` : `${a.scheme}:${a.id}`;
    const may = a.perms === "cdrwa" ? "do everything" : [...a.perms].map((p) => PERMS[p]).join(", ");
    return el("li", {}, el("b", { text: who }), ` may ${may} `, el("code", { class: "quiet", text: `${a.scheme}:${a.id}:${a.perms}` }));
  }));
}

// ---- data ----

async function dataShown(path, node) {
  if (!node.readable) return el("p", { class: "warn", text: "The data may not be read with the identity at hand." });
  if (node.too_long) return el("p", { class: "warn", text: "The data are too long to be shown here." });
  if (node.data === null) return el("p", { class: "quiet", text: "No data at all (null)." });
  const data = fromBase64(node.data);
  if (data.length === 0) return el("p", { class: "quiet", text: "Empty." });
  const forms = [];
  const decoded = await known(path, data);
  const json = asJson(data);
  const text = asText(data);
  if (json !== null) forms.push(["JSON", json, ""]);
  if (text !== null) forms.push(["Text", text, ""]);
  if (decoded !== null) forms.push(["Decoded", decoded, ""]);
  forms.push(["Hex", asHex(data), "hex"]);
  if (decoded !== null && text === null) forms.unshift(...forms.splice(forms.findIndex((f) => f[0] === "Decoded"), 1));
  const shown = el("pre", { class: "data", role: "tabpanel", tabindex: "0", "aria-label": "Data" });
  const tabs = el("div", { class: "tabs", role: "tablist" }, forms.map(([name], i) => el("button", {
    type: "button", role: "tab", text: name, id: "form-" + name, onclick: () => choose(i),
    onkeydown: (e) => {
      const move = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
      if (move) choose((i + move + forms.length) % forms.length, true);
    },
  })));
  function choose(at, focus) {
    [...tabs.children].forEach((t, i) => { t.setAttribute("aria-selected", i === at); t.tabIndex = i === at ? 0 : -1; });
    shown.className = "data " + forms[at][2];
    shown.textContent = forms[at][1];
    if (focus) tabs.children[at].focus();
  }
  choose(0);
  return [tabs, shown];
}

// ---- changes ----

function diffShown(before, after) {
  const lines = diff(before, after);
  const changed = lines.filter((l) => l.kind !== "same").length;
  return el("div", {}, el("p", { class: "quiet", text: changed === 0 ? "Nothing has changed." : `${changed} lines differ` }),
    el("div", { class: "diff mono" }, lines.slice(0, 2000).map((l) => el("div", { class: l.kind, text: (l.kind === "in" ? "+ " : l.kind === "out" ? "- " : "  ") + l.text }))));
}

function edit(path, node, done) {
  let base = node;
  const bytesOf = (n) => (n.data === null ? new Uint8Array() : fromBase64(n.data));
  const isText = asText(bytesOf(node)) !== null;
  const write = (n) => (isText ? asText(bytesOf(n)) ?? "" : plainHex(bytesOf(n)));
  const area = el("textarea", { id: "edit-data", class: "mono", spellcheck: "false", value: write(node) });
  const step = el("div", {});
  const wrong = el("p", { class: "bad", role: "alert", id: "edit-wrong" });
  const dataNow = () => (isText ? new TextEncoder().encode(area.value) : fromHex(area.value));

  dialog("Edit " + path, "", (close) => {
    const showEdit = () => replace(step, el("label", { for: "edit-data", text: isText ? "Text" : "Bytes as hexadecimal digits" }), area, el("div", { class: "row end" },
      el("button", { type: "button", class: "plain", text: "Cancel", onclick: close }),
      el("button", { type: "button", id: "review", text: "See what changes", onclick: review })));
    function review() {
      if (dataNow() === null) {
        wrong.textContent = "These are no hexadecimal digits.";
        return;
      }
      replace(step, diffShown(write(base), area.value), el("div", { class: "row end" },
        el("button", { type: "button", class: "plain", text: "Back", onclick: () => { wrong.textContent = ""; showEdit(); } }),
        el("button", { type: "button", id: "save", text: `Save over version ${base.stat.version}`, onclick: save })));
    }
    async function save() {
      wrong.textContent = "";
      try {
        await put("node", { path, data: toBase64(dataNow()), version: base.stat.version });
        close();
        say("saved");
        done();
      } catch (error) {
        if (error.code === "BAD_VERSION") {
          base = await get("node", { path });
          wrong.textContent = `Somebody else has changed it meanwhile: it has version ${base.stat.version} now. Below is what yours would change of theirs.`;
          review();
        } else {
          wrong.textContent = error.message + (error.outcome === "unknown" ? " It may have happened all the same: look again." : "");
        }
      }
    }
    showEdit();
    return [wrong, step];
  });
}

function create(path, done) {
  const name = el("input", { id: "new-name", required: true, class: "mono" });
  const data = el("textarea", { id: "new-data", class: "mono", spellcheck: "false" });
  const mode = el("select", { id: "new-mode" }, ["persistent", "sequential", "container"].map((m) => el("option", { value: m, text: m })));
  const wrong = el("p", { class: "bad", role: "alert" });
  dialog("Make a node below " + path, "", (close) => el("form", {
    onsubmit: async (event) => {
      event.preventDefault();
      try {
        await post("node", { path: join(path, name.value), text: data.value, mode: mode.value });
        close();
        say("made");
        done();
      } catch (error) {
        wrong.textContent = error.message;
      }
    },
  }, el("label", { for: "new-name", text: "Name" }), name, el("label", { for: "new-mode", text: "Kind" }), mode,
    el("label", { for: "new-data", text: "Text" }), data, wrong,
    el("div", { class: "row end" }, el("button", { type: "button", class: "plain", text: "Cancel", onclick: close }), el("button", { type: "submit", text: "Make it" }))));
}

function erase(path, node) {
  const all = el("input", { type: "checkbox", id: "erase-children" });
  const typed = el("input", { id: "erase-name", class: "mono", autocomplete: "off" });
  const wrong = el("p", { class: "bad", role: "alert" });
  const name = path.slice(path.lastIndexOf("/") + 1);
  const button = el("button", { type: "submit", class: "danger", text: "Delete it", disabled: true });
  typed.addEventListener("input", () => { button.disabled = typed.value !== name; });
  dialog("Delete " + path, "narrow", (close) => el("form", {
    onsubmit: async (event) => {
      event.preventDefault();
      try {
        await remove("node", { path, version: node.stat.version, children: all.checked ? "true" : undefined });
        close();
        say("deleted");
        location.hash = hashOf("tree", path.slice(0, path.lastIndexOf("/")) || "/");
      } catch (error) {
        wrong.textContent = error.message;
      }
    },
  }, el("p", { text: node.stat.n_children ? `It has ${number(node.stat.n_children)} children.` : "It has no children." }),
    node.stat.n_children > 0 && el("p", {}, all, " ", el("label", { for: "erase-children", text: "with everything below it" })),
    el("label", { for: "erase-name" }, "Type its name to confirm: ", el("code", { text: name })), typed, wrong,
    el("div", { class: "row end" }, el("button", { type: "button", class: "plain", text: "Cancel", onclick: close }), button)));
}

function editAcl(path, node, done) {
  const area = el("textarea", { id: "acl-text", class: "mono", spellcheck: "false", value: (node.acl || []).map((a) => `${a.scheme}:${a.id}:${a.perms}`).join("\n") });
  const wrong = el("p", { class: "bad", role: "alert" });
  dialog("ACL of " + path, "", (close) => el("form", {
    onsubmit: async (event) => {
      event.preventDefault();
      const acl = area.value.split("\n").map((l) => l.trim()).filter(Boolean).map((l) => {
        const first = l.indexOf(":");
        const last = l.lastIndexOf(":");
        return { scheme: l.slice(0, first), id: l.slice(first + 1, last), perms: l.slice(last + 1) };
      });
      try {
        await put("acl", { path, acl, version: node.stat.aversion });
        close();
        done();
      } catch (error) {
        wrong.textContent = error.message;
      }
    },
  }, el("label", { for: "acl-text", text: "A line for each: scheme:id:perms, such as world:anyone:r or auth::cdrwa for yourself" }), area, wrong,
    el("div", { class: "row end" }, el("button", { type: "button", class: "plain", text: "Cancel", onclick: close }), el("button", { type: "submit", text: "Set it" }))));
}

// ---- search ----

function searchBox(pathNow) {
  const name = el("input", { type: "search", id: "search-name", placeholder: "in the name", "aria-label": "Search in names" });
  const content = el("input", { type: "search", id: "search-content", placeholder: "in the data", "aria-label": "Search in data" });
  const state = el("p", { class: "quiet", role: "status" });
  const found = el("ul", { class: "places mono" });
  const button = el("button", { type: "submit", text: "Search below" });
  let stop = null;

  async function run(event) {
    event.preventDefault();
    if (stop) {
      stop.abort();
      return;
    }
    if (!name.value && !content.value) return;
    stop = new AbortController();
    button.textContent = "Stop";
    replace(found);
    let looked = 0;
    let hits = 0;
    let after;
    try {
      do {
        const answer = await get("search", { path: pathNow(), name: name.value, content: content.value, after }, stop.signal);
        looked += answer.n_looked_at;
        hits += answer.found.length;
        if (found.children.length < 1000) answer.found.forEach((p) => found.append(el("li", {}, el("a", { href: hashOf("tree", p), text: p }))));
        after = answer.next;
        state.textContent = `${number(hits)} found, ${number(looked)} looked at${after ? " …" : ""}`;
      } while (after);
    } catch (error) {
      state.textContent = error.name === "AbortError" ? `stopped; ${number(hits)} found, ${number(looked)} looked at` : error.message;
    }
    stop = null;
    button.textContent = "Search below";
  }
  return { box: el("section", { class: "sheet" }, el("h2", { text: "Search" }), el("form", { class: "row", onsubmit: run }, name, content, button), state, found), end: () => stop && stop.abort() };
}

// ---- the view ----

export function tree(main, first) {
  let path = first;
  let isOver = false;
  const head = el("div", {});
  const filter = el("input", { type: "search", placeholder: "Filter children", "aria-label": "Filter children by name", class: "grow", oninput: () => { list.chosen = -1; list.box.scrollTop = 0; readChildren(); } });
  const count = el("span", { class: "quiet", id: "n-children" });
  const list = new List("Children", (offset, limit) => get("children", { path, offset, limit, filter: filter.value }), (name) => { location.hash = hashOf("tree", join(path, name)); });
  const details = el("section", { class: "sheet", "aria-label": "Node" });
  const search = searchBox(() => path);

  async function readChildren() {
    try {
      await list.refresh();
      list.box.classList.toggle("none", list.total === 0);
      count.textContent = list.total === 1 ? "1 child" : number(list.total) + " children";
    } catch (error) {
      count.textContent = error.message;
    }
  }

  async function readNode() {
    const at = path;
    try {
      const node = await get("node", { path: at });
      const data = await dataShown(at, node);
      if (isOver || at !== path) return;
      const writes = session.user ? {} : { disabled: true, title: "Log in first" };
      const reload = () => { readNode(); readChildren(); };
      replace(details,
        el("div", { class: "row apart" }, el("h2", { class: "mono", id: "node-path", text: at }),
          BigInt(node.stat.ephemeral_owner) !== 0n && badge("waits", "ephemeral")),
        el("div", { class: "row" },
          el("button", { type: "button", id: "edit", text: "Edit", ...writes, ...(node.readable && !node.too_long ? {} : { disabled: true }), onclick: () => edit(at, node, reload) }),
          el("button", { type: "button", id: "create", class: "plain", text: "Make a child", ...writes, onclick: () => create(at, reload) }),
          el("button", { type: "button", class: "plain", text: "Change ACL", ...writes, onclick: () => editAcl(at, node, reload) }),
          at !== "/" && el("button", { type: "button", id: "delete", class: "plain", text: "Delete", ...writes, onclick: () => erase(at, node) }),
          el("button", { type: "button", class: "plain", text: "Read again", onclick: reload })),
        data, el("h2", { text: "Stat" }), statInWords(node.stat), el("h2", { text: "Who may do what" }), aclInWords(node.acl));
    } catch (error) {
      if (!isOver && at === path) replace(details, el("h2", { class: "mono", text: at }), el("p", { class: "bad", text: error.message }));
    }
  }

  function go(to) {
    path = to;
    filter.value = "";
    list.chosen = -1;
    list.box.scrollTop = 0;
    replace(head, crumbs(path));
    readChildren();
    readNode();
  }

  main.append(el("h1", { class: "unseen", text: "Tree" }), head, el("div", { class: "two" },
    el("div", { class: "stack" }, el("section", { class: "sheet" }, el("div", { class: "row" }, filter, count), list.box), search.box),
    details));
  go(first);
  return { go, end: () => { isOver = true; search.end(); } };
}
